// SPDX-License-Identifier: Apache-2.0
// address.js - what a view keeps in the address behind the #, so that a place in it can be sent as a link.

// The values of a view; null while another one is shown.
export function addressOf(id) {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return path === id ? new URLSearchParams(query) : null;
}

// Sets values of the view that is shown; "", null and undefined take one away.  It is no new place to go back to.
export function keepInAddress(id, values) {
  const query = addressOf(id);
  if (!query) return;
  for (const [key, value] of Object.entries(values)) {
    if (value === "" || value === null || value === undefined) query.delete(key);
    else query.set(key, value);
  }
  history.replaceState(null, "", `#/${id}${query.size ? `?${query}` : ""}`);
}

export function linkTo(id, values) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== "" && value !== undefined) query.set(key, value);
  return `#/${id}?${query}`;
}
