// SPDX-License-Identifier: Apache-2.0
// main.js - reads the page's data, then shows one section at a time, by the address behind the #.

import { readJson } from "./data.js";
import { announce, el } from "./dom.js";
import { dimTabs, explain } from "./help.js";
import { themeChanged } from "./palette.js";
import { setReport, theReport } from "./rows.js";
import { followEditions, hideToken, isServed } from "./served.js";
import { Timeline } from "./timeline.js";
import { draw, drawn, enhanceFindings, markPlace, rankLabel, sayScope } from "./views.js";

const root = document.documentElement;
const sections = [...document.querySelectorAll("main > section.view")];
let rank = 0,
  timeline;
const done = new Map(); // section -> the rank it shows

// "#/timeline?r=0" and "#timeline" alike.
function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return {
    id: sections.some((s) => s.id === path) ? path : path.startsWith("finding-") ? "findings" : "overview",
    anchor: path,
    query: new URLSearchParams(query),
  };
}

function setRank(index) {
  if (!(index >= 0 && index < theReport().ranks.length)) return;
  rank = index;
  const select = document.getElementById("rank");
  if (select) select.value = String(select.localName === "select" ? index : theReport().ranks[index].rank);
}

function show() {
  const { id, anchor, query } = route();
  if (query.has("r")) setRank(Number(query.get("r")));
  for (const s of sections) s.hidden = s.id !== id;
  for (const a of document.querySelectorAll("#nav a")) {
    const isHere = a.getAttribute("href").replace(/^#\/?/, "") === id;
    if (isHere) {
      a.setAttribute("aria-current", "page");
      showTab(a);
    }
    else a.removeAttribute("aria-current");
  }
  document.title = `${document.querySelector(`#nav a[aria-current]`)?.textContent ?? ""} · ${document.querySelector("h1").textContent} · holdup`;
  if (drawn.includes(id) && done.get(id) !== rank) {
    done.set(id, rank);
    try {
      draw(id, rank);
    } catch (error) {
      document
        .getElementById(id)
        .append(el("p", { class: "error", role: "alert" }, `This view could not be drawn: ${error.message}`));
      throw error;
    }
  }
  dimTabs(rank);
  sayScope(id, rank);
  markPlace(id, rank, query);
  if (id === "timeline") {
    timeline ??= new Timeline(document.getElementById("timeline"), () => rank, setRank);
    timeline.show(query);
  }
  if (anchor !== id) document.getElementById(anchor)?.scrollIntoView();
}

// Where tabs are out of sight, on narrow screens, an arrow says so; the one that is shown never is.
function signTabs() {
  const list = document.querySelector("#nav ul"),
    sign = () => {
      list.parentNode.classList.toggle("before", list.scrollLeft > 2);
      list.parentNode.classList.toggle("after", list.scrollLeft + list.clientWidth < list.scrollWidth - 2);
    };
  list.addEventListener("scroll", sign, { passive: true });
  new ResizeObserver(sign).observe(list);
}

function showTab(a) {
  const list = document.querySelector("#nav ul"),
    [box, all] = [a.getBoundingClientRect(), list.getBoundingClientRect()];
  if (box.left < all.left + 30) list.scrollLeft += box.left - all.left - 30;
  else if (box.right > all.right - 30) list.scrollLeft += box.right - all.right + 30;
}

function chooseRank(index) {
  setRank(index);
  if (route().id === "timeline") location.hash = `#/timeline?r=${rank}`;
  else show();
  announce(`${rankLabel(rank)} is shown`);
}

// Of very many ranks one is typed: its number.
function rankField(ranks) {
  return el("input", {
    id: "rank",
    type: "number",
    min: "0",
    onchange: (event) => {
      const index = ranks.findIndex((r) => r.rank === Number(event.target.value));
      if (index >= 0) chooseRank(index);
      event.target.value = String(ranks[rank].rank);
    },
  });
}

function addRankSelect(header) {
  const { ranks } = theReport();
  if (ranks.length < 2) return;
  header.append(
    el(
      "span",
      { class: "pick" },
      el("label", { for: "rank" }, "rank "),
      ranks.length > 200
        ? rankField(ranks)
        : el(
            "select",
            { id: "rank", onchange: (event) => chooseRank(Number(event.target.value)) },
            ranks.map((_, i) => el("option", { value: i }, rankLabel(i))),
          ),
    ),
  );
}

const themes = ["system", "light", "dark"];

function addThemeButton(header) {
  let theme = "system";
  try {
    theme = themes.includes(localStorage.getItem("holdup-theme")) ? localStorage.getItem("holdup-theme") : theme;
  } catch {
    /* not from file: in some browsers */
  }
  const button = el("button", { type: "button", id: "theme" });
  const apply = () => {
    if (theme === "system") root.removeAttribute("data-theme");
    else root.dataset.theme = theme;
    button.textContent = `theme: ${theme}`;
    themeChanged();
  };
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try {
      localStorage.setItem("holdup-theme", theme);
    } catch {
      /* it lasts as long as the page */
    }
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
  apply();
  header.append(button);
}

async function start() {
  const header = document.getElementById("top");
  hideToken();
  root.classList.add("script");
  for (const a of document.querySelectorAll("#nav a")) a.href = a.getAttribute("href").replace("#", "#/");
  for (const a of document.querySelectorAll("a[data-to]")) a.setAttribute("href", `#${a.dataset.to}`);
  addThemeButton(header);
  signTabs();
  explain();
  document.querySelector("a.skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address is the section's
    document.getElementById("main").focus();
  });
  for (const s of sections) s.hidden = s.id !== route().id;
  const [words, report] = await Promise.all([readJson("data-words"), readJson("data-report")]);
  setReport(words, report);
  rank = words.rank_index;
  addRankSelect(header);
  setRank(rank);
  enhanceFindings(words.rank_index);
  addEventListener("hashchange", () => {
    show();
    if (!route().query.size) scrollTo(0, 0);
  });
  show();
  root.dataset.ready = "1";
  if (isServed()) followEditions();
}

start().catch((error) => {
  for (const s of sections) s.hidden = false;
  document
    .getElementById("main")
    .prepend(
      el(
        "p",
        { class: "error", role: "alert" },
        `The page's data could not be read (${error.message}). The static report follows; generate the page again for the rest.`,
      ),
    );
});
