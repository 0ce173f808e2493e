# SPDX-License-Identifier: Apache-2.0
"""`holdup monitor --web-config`: the file that exporters of Prometheus share, with certificates, clients and a Prometheus that are real."""
from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse
from typing import Any

from tests.program import run, skip_loudly
from tests.test_monitor import OPENMETRICS, PATIENCE, Monitor, check_openmetrics, fetch, free_port, wait_for

LONG = "$2y$22$" + "a" * 53  # of no password that is known; to find that out takes minutes


def need(case: unittest.TestCase, *tools: str) -> None:
    for tool in tools:
        if not shutil.which(tool):
            skip_loudly(f"no {tool} for {case.id()}: scripts/setup test")
            case.skipTest(f"no {tool}")


class Web(unittest.TestCase):
    """A folder with web.yml, an authority, and certificates of a server and clients."""

    def setUp(self) -> None:
        need(self, "openssl", "curl", "htpasswd")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-web-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "web.yml"

    def openssl(self, *arguments: Any, **options: Any) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=self.folder, **options)

    def authority(self, name: str) -> None:
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                     "-keyout", f"{name}.key", "-out", f"{name}.pem")

    def certificate(self, name: str, ca: str, names: str = "DNS:localhost,IP:127.0.0.1", use: str = "serverAuth", days: int = 2) -> None:
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                     "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (self.folder / f"{name}.ext").write_text(f"subjectAltName={names}\nextendedKeyUsage={use}\n")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", days,
                     "-extfile", f"{name}.ext", "-out", f"{name}.pem")

    def certificates(self) -> None:
        self.authority("ca")
        self.certificate("server", "ca")

    def hash(self, password: str) -> str:
        """Of the least cost: most tests are about who gets in, not about how long a hash takes."""
        done = subprocess.run(["htpasswd", "-nbBC", "4", "", password], check=True, capture_output=True, text=True)
        return done.stdout.strip().lstrip(":")

    def monitor(self, text: str, *more: Any) -> Monitor:
        self.file.write_text(text)
        return Monitor("--web-config", self.file, *more)

    def curl(self, m: Monitor, *arguments: Any, path: str = "/metrics", host: str = "localhost") -> tuple[int, str]:
        """curl's status (0: an answer came) and the HTTP status, then the text."""
        done = subprocess.run(["curl", "-sS", "-m", str(PATIENCE), "-w", "%{http_code}", "--cacert", "ca.pem", *map(str, arguments),
                               f"{m.scheme}://{host}:{m.port}{path}", "-o", "answer"], capture_output=True, text=True, check=False, cwd=self.folder)
        return done.returncode, done.stdout

    def refused(self, text: str, *words: str, secret: str = "") -> None:
        self.file.write_text(text)
        status, out, err = run("monitor", "--web-config", self.file, "--listen", "127.0.0.1:0")
        self.assertNotEqual(status, 0, text)
        self.assertEqual(out, b"")
        for word in words:
            self.assertIn(word, err)
        if secret:
            self.assertNotIn(secret, err)


class Tls(Web):
    """tls_server_config."""

    def test_a_client_that_knows_the_authority(self) -> None:
        self.certificates()
        self.authority("other")
        with self.monitor("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n") as m:
            self.assertEqual(m.scheme, "https")
            self.assertEqual(self.curl(m), (0, "200"))
            self.assertIn("holdup_build_info", (self.folder / "answer").read_text())
            self.assertEqual(self.curl(m, "--cacert", "other.pem")[0], 60)
            self.assertEqual(self.curl(m, "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0")[0], 35, "1.2 is the least")
            self.assertEqual(self.curl(m, "--tls-max", "1.2"), (0, "200"))
            self.assertEqual(self.curl(m, "--http2"), (0, "200"))
            connection = http.client.HTTPConnection("127.0.0.1", m.port, timeout=PATIENCE)
            with self.assertRaises((http.client.HTTPException, OSError)):
                connection.request("GET", "/metrics")
                connection.getresponse()
            connection.close()

    def test_versions_suites_and_curves(self) -> None:
        self.certificates()
        tls = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"
        with self.monitor(tls + "  min_version: TLS13\n") as m:
            self.assertEqual(self.curl(m, "--tls-max", "1.2")[0], 35)
            self.assertEqual(self.curl(m), (0, "200"))
        with self.monitor(tls + "  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n"
                                "  curve_preferences: [CurveP384]\n  prefer_server_cipher_suites: false\n") as m:
            self.assertEqual(self.curl(m, "--tls-max", "1.2"), (0, "200"))
            self.assertEqual(self.curl(m, "--tlsv1.3")[0], 35)
            self.assertEqual(self.curl(m, "--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256")[0], 35)
            self.assertEqual(self.curl(m, "--ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384"), (0, "200"))
            self.assertEqual(self.curl(m, "--curves", "P-256:P-384"), (0, "200"))
            self.assertEqual(self.curl(m, "--curves", "P-256:X25519")[0], 35)

    def test_clients_show_certificates(self) -> None:
        self.certificates()
        self.authority("other")
        self.certificate("client", "ca", "DNS:prometheus.example,URI:spiffe://a/b,IP:10.0.0.1,email:a@b.example", "clientAuth")
        self.certificate("stranger", "other", use="clientAuth")
        client, stranger = ("--cert", "client.pem", "--key", "client.key"), ("--cert", "stranger.pem", "--key", "stranger.key")
        server = ("--cert", "server.pem", "--key", "server.key")  # of the authority, and for no client
        tls = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n  client_auth_type: %s\n"
        ca = "  client_ca_file: ca.pem\n"
        yes, no = (0, "200"), False
        for kind, more, nothing, good, foreign, for_servers in (
                ("NoClientCert", "", yes, yes, yes, yes), ("RequestClientCert", "", yes, yes, yes, yes),
                ("RequireAnyClientCert", "", no, yes, yes, yes), ("VerifyClientCertIfGiven", ca, yes, yes, no, no),
                ("RequireAndVerifyClientCert", ca, no, yes, no, no)):
            with self.monitor(tls % kind + more) as m:
                for version in ("1.2", "1.3"):
                    for arguments, expected in (((), nothing), (client, good), (stranger, foreign), (server, for_servers)):
                        with self.subTest(kind=kind, version=version, arguments=arguments):
                            got = self.curl(m, "--tls-max", version, *arguments)
                            self.assertEqual(got if expected else got[1], expected or "000")
        for name, expected in (("prometheus.example", "200"), ("spiffe://a/b", "200"), ("10.0.0.1", "200"), ("a@b.example", "200"),
                               ("example", "403"), ("client", "403")):
            with self.monitor(tls % "RequireAndVerifyClientCert" + ca + f"  client_allowed_sans: ['{name}']\n") as m:
                self.assertEqual(self.curl(m, *client), (0, expected), name)

    def test_guests_that_never_shake_hands_shut_nobody_out(self) -> None:
        self.certificates()
        with self.monitor("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n") as m, contextlib.ExitStack() as all_of_them:
            for i in range(400):
                guest = all_of_them.enter_context(socket.socket())
                guest.setblocking(False)
                guest.connect_ex(("127.0.0.1", m.port))
                if i % 2:
                    with contextlib.suppress(OSError):
                        guest.send(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a hello
                if i % 100 == 99:
                    self.assertEqual(self.curl(m), (0, "200"), f"behind {i + 1} others")

    def test_certificates_inside_the_file(self) -> None:
        self.certificates()
        inside = "".join(f"  {key}: |\n" + "".join(f"    {line}\n" for line in (self.folder / name).read_text().splitlines())
                         for key, name in (("cert", "server.pem"), ("key", "server.key")))
        with self.monitor("tls_server_config:\n" + inside) as m:
            self.assertEqual(self.curl(m), (0, "200"))

    def test_new_certificates_are_taken_while_it_runs(self) -> None:
        self.certificates()
        self.authority("next")
        with self.monitor("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n") as m:
            self.assertEqual(self.curl(m), (0, "200"))
            shutil.copy(self.folder / "server.pem", self.folder / "before.pem")
            self.certificate("server", "next")  # key first, then the certificate: they do not fit for a moment
            wait_for(lambda: self.curl(m, "--cacert", "next.pem") == (0, "200"), "the new certificate")
            self.assertEqual(self.curl(m)[0], 60)
            self.assertIsNone(m.process.poll())
            self.assertNotIn("PRIVATE", "\n".join(m.said))

    def test_what_is_wrong_keeps_what_was_right(self) -> None:
        self.certificates()
        good = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"
        with self.monitor(good) as m:
            self.file.write_text(good + "  colour: red\n")
            wait_for(lambda: any("unknown key \"colour\"" in line for line in m.said), "an error")
            self.assertEqual(self.curl(m), (0, "200"))
            self.assertIn('holdup_monitor_problem{source="web_config"', (self.folder / "answer").read_text())
            self.curl(m, "-H", f"Accept: {OPENMETRICS}")
            check_openmetrics(self, (self.folder / "answer").read_text())
            time.sleep(2.5)  # two more looks
            self.assertEqual(sum("colour" in line for line in m.said), 1)
            self.file.write_text("")  # and plain, now
            wait_for(lambda: fetch(f"http://127.0.0.1:{m.port}/metrics"), "plain HTTP")
            self.assertNotIn('holdup_monitor_problem{source="web_config"', fetch(f"http://127.0.0.1:{m.port}/metrics"))

    def test_errors_name_file_line_and_cure(self) -> None:
        self.certificates()
        self.authority("other")
        tls = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"
        for text, words in (
                ("tls_server_config:\n  cert_file: server.pem\n", ["web.yml", "line 2", "lacks key_file"]),
                ("tls_server_config:\n  key_file: server.key\n", ["lacks cert_file"]),
                ("tls_server_config:\n  cert_file: none.pem\n  key_file: server.key\n", ["none.pem", "No such file"]),
                ("tls_server_config:\n  cert_file: server.pem\n  key_file: other.key\n", ["the key belongs to another certificate"]),
                ("tls_server_config:\n  cert_file: web.yml\n  key_file: server.key\n", ["cannot be used"]),
                (tls + "  cert: x\n", ["both cert and cert_file"]),
                (tls + "  min_version: SSL3\n", ["TLS10"]), (tls + "  min_version: TLS13\n  max_version: TLS12\n", ["above"]),
                (tls + "  cipher_suites: [RC4]\n", ["unknown cipher suite \"RC4\""]),
                (tls + "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n",
                 ["without TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]),
                (tls + "  curve_preferences: [P256]\n", ["CurveP256"]), (tls + "  prefer_server_cipher_suites: 3\n", ["true or false"]),
                (tls + "  client_auth_type: Yes\n", ["line 4", "RequireAndVerifyClientCert"]),
                (tls + "  client_auth_type: RequireAndVerifyClientCert\n", ["needs client_ca_file"]),
                (tls + "  client_ca_file: ca.pem\n", ["client_auth_type: RequireAndVerifyClientCert"]),
                (tls + "  client_ca_file: server.key\n  client_auth_type: RequireAndVerifyClientCert\n", ["holds no certificate"]),
                (tls + "  client_allowed_sans: [a]\n", ["line 4", "client_allowed_sans needs"]),
                (tls + "  client_allowed_sans: a\n", ["has to be a list"]),
                (tls + "  cert_file: x\n", ["line 4", "\"cert_file\" is there twice, first in line 2"]),
                (tls + "  certfile: x\n", ["line 4", "unknown key \"certfile\" in tls_server_config", "cert_file, key_file"]),
                ("tls_config:\n", ["line 1", "unknown key \"tls_config\"", "tls_server_config, http_server_config"]),
                ("tls_server_config: [a]\n", ["line 1", "has to hold keys and values"]), ("- a\n", ["the file has to hold keys"]),
                ("a: [\n", ["line 2", "no YAML"]), ("a: &a [*a, *a]\n", ["unknown key"]), ("\x00", ["no YAML"]),
                ("http_server_config:\n  http2: perhaps\n", ["line 2", "true or false"]),
                ("http_server_config:\n  headers:\n    Set-Cookie: x\n", ["line 3", "cannot be set"]),
                ("http_server_config:\n  headers:\n    X-Frame-Options: none\n", ["line 3", "deny or sameorigin"]),
                ("http_server_config:\n  headers:\n    X-XSS-Protection: \"a\\r\\nb: c\"\n", ["line 3", "the end of a line"]),
                ("rate_limit:\n  interval: soon\n", ["line 2", "a time such as 1s"]), ("rate_limit:\n  interval: 1s\n", ["burst"]),
                ("rate_limit:\n  burst: many\n", ["whole number"])):
            with self.subTest(text=text):
                self.refused(text, *words)
        status, _, err = run("monitor", "--web-config", self.folder / "none.yml")
        self.assertEqual(status, 3)
        self.assertIn("No such file", err)

    def test_secrets_are_in_no_error(self) -> None:
        self.certificates()
        key = (self.folder / "server.key").read_text().splitlines()[1]
        inline = "tls_server_config:\n  cert: x\n  key: |\n" + "".join(f"    {line}\n" for line in (self.folder / "server.key").read_text().splitlines())
        self.refused(inline, "cannot be used", secret=key)
        self.refused(inline + "  cert_file: [", "no YAML", secret=key)
        for wrong in ("secretsecret", "$2y$99$secretsecretsecretsecretsecretsecretsecretsecretsecretse", "{secretsecret: 1}", "[secretsecret]"):
            self.refused(f"basic_auth_users:\n  alice: '{wrong}'\n" if wrong[0] not in "{[" else f"basic_auth_users:\n  alice: {wrong}\n",
                         "line 2", secret="secretsecret")


class Users(Web):
    """basic_auth_users, rate_limit and headers."""

    def setUp(self) -> None:
        super().setUp()
        self.authority("ca")

    def ask(self, m: Monitor, user: str | None, password: str = "", path: str = "/metrics") -> int:
        given = {} if user is None else {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}
        return m.get(path, **given)[0]

    def test_only_users_get_in(self) -> None:
        words = "pass: wörd \\\"'"
        with self.monitor(f"basic_auth_users:\n  alice: {self.hash(words)}\n  'b ob': {self.hash('b').replace('$2y$', '$2b$')}\n  empty: {self.hash('')}\n") as m:
            for path in ("/metrics", "/", "/-/healthy", "/none"):
                status, headers, _ = m.get(path)
                self.assertEqual(status, 401, path)
                self.assertTrue(headers["WWW-Authenticate"].startswith("Basic realm="))
            for user, password, status in (("alice", words, 200), ("alice", words, 200), ("b ob", "b", 200), ("alice", "b", 401), ("b ob", words, 401),
                                           ("alice", words + "x", 401), ("alice", "", 401), ("", "", 401), ("nobody", words, 401), ("Alice", words, 401),
                                           ("empty", "", 200), ("x" * 300, "b", 401), ("alice", "x" * 3000, 401)):
                self.assertEqual(self.ask(m, user, password), status, (user[:20], password[:20]))
            for header in ("Basic", "Basic !!!!", "Bearer YTpi", "Basic " + base64.b64encode(b"alice").decode(),
                           "Basic " + base64.b64encode(b"alice:\x00b").decode()):
                self.assertEqual(m.get(Authorization=header)[0], 401, header)
            self.assertEqual(self.curl(m, "-u", f"alice:{words}"), (0, "200"))
            self.assertEqual(self.curl(m, "-u", "alice:no"), (0, "401"))
            self.assertEqual(m.said, m.said[:1])

    def test_a_right_password_costs_one_hash(self) -> None:
        done = subprocess.run(["htpasswd", "-nbBC", "10", "", "word"], check=True, capture_output=True, text=True)
        with self.monitor(f"basic_auth_users:\n  alice: {done.stdout.strip().lstrip(':')}\n") as m:
            self.assertEqual(self.ask(m, "alice", "word"), 200)
            before = cpu_ticks(m.process.pid)
            for _ in range(300):
                self.assertEqual(self.ask(m, "alice", "word"), 200)
            right = cpu_ticks(m.process.pid) - before
            before = cpu_ticks(m.process.pid)
            for _ in range(30):
                self.assertEqual(self.ask(m, "alice", "wrong"), 401)
            wrong = cpu_ticks(m.process.pid) - before
        self.assertLess(right / 300, wrong / 30 / 5, (right, wrong))

    def test_who_guesses_keeps_nobody_out(self) -> None:
        done = subprocess.run(["htpasswd", "-nbBC", "11", "", "word"], check=True, capture_output=True, text=True)
        with self.monitor(f"basic_auth_users:\n  alice: {done.stdout.strip().lstrip(':')}\n") as m:
            self.assertEqual(self.ask(m, "alice", "word"), 200)
            answers: list[int] = []
            guessers = [threading.Thread(target=lambda i=i: answers.append(self.ask(m, "alice", f"guess {i}"))) for i in range(40)]
            for guesser in guessers:
                guesser.start()
            seen = 0
            while any(guesser.is_alive() for guesser in guessers) and seen < 50:
                self.assertEqual(self.ask(m, "alice", "word"), 200)
                seen += 1
            for guesser in guessers:
                guesser.join(PATIENCE)
            self.assertEqual(set(answers), {401, 503}, "a few are looked at, the others are sent away")
            self.assertGreater(seen, 3)

    def test_it_ends_while_a_password_is_looked_at(self) -> None:
        with self.monitor(f"basic_auth_users:\n  alice: {LONG}\n") as m:
            connections = []
            for _ in range(3):
                connection = http.client.HTTPConnection("127.0.0.1", m.port, timeout=PATIENCE)
                connection.request("GET", "/metrics", headers={"Authorization": "Basic YWxpY2U6eA=="})
                connections.append(connection)
            self.assertEqual(m.get()[0], 401, "who has no password need not wait")
            m.process.terminate()
            self.assertEqual(m.process.wait(PATIENCE), 0)
            for connection in connections:
                connection.close()

    def test_users_change_while_it_runs(self) -> None:
        with self.monitor(f"basic_auth_users:\n  alice: {self.hash('one')}\n") as m:
            self.assertEqual(self.ask(m, "alice", "one"), 200)
            self.file.write_text(f"basic_auth_users:\n  alice: {self.hash('two')}\n")
            m.process.send_signal(signal.SIGHUP)
            wait_for(lambda: self.ask(m, "alice", "two") == 200, "the new password")
            self.assertEqual(self.ask(m, "alice", "one"), 401)

    def test_headers_and_rate(self) -> None:
        with self.monitor("http_server_config:\n  http2: false\n  headers:\n    X-Frame-Options: deny\n    Strict-Transport-Security: max-age=9\n"
                          "    X-XSS-Protection:\nrate_limit:\n  interval: 1h\n  burst: 3\n") as m:
            answers = [m.get(path) for path in ("/metrics", "/", "/none", "/metrics", "/")]
            self.assertEqual([status for status, _, _ in answers], [200, 200, 404, 429, 429])
            for _, headers, _ in answers:
                self.assertEqual((headers["X-Frame-Options"], headers["Strict-Transport-Security"]), ("deny", "max-age=9"))
                self.assertNotIn("X-XSS-Protection", headers)


class RealPrometheus(Web):
    """Prometheus itself scrapes it."""

    def test_with_tls_and_a_user(self) -> None:
        need(self, "prometheus")
        self.certificates()
        port = free_port()
        with self.monitor(f"tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\nbasic_auth_users:\n  p: {self.hash('word')}\n",
                          "--dcgm-names") as m:
            (self.folder / "prometheus.yml").write_text(json.dumps({"scrape_configs": [
                {"job_name": name, "scrape_interval": "1s", "scheme": "https", "basic_auth": {"username": "p", "password": word},
                 "tls_config": {"ca_file": str(self.folder / "ca.pem"), "server_name": "localhost"},
                 "static_configs": [{"targets": [f"127.0.0.1:{m.port}"]}]} for name, word in (("right", "word"), ("wrong", "x"))]}))
            prometheus = subprocess.Popen(["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                                           f"--web.listen-address=127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
            try:
                query = f"http://127.0.0.1:{port}/api/v1/query?query="
                found = wait_for(lambda: ask_for(query, 'holdup_host_cpus{job="right"}'), "a series")
                self.assertEqual(float(found[0]["value"][1]), os.cpu_count())
                self.assertEqual(ask_for(query, 'up{job="right"}')[0]["value"][1], "1")
                wait_for(lambda: ask_for(query, 'up{job="wrong"} == 0'), "the one with a wrong password")
                targets = json.loads(fetch(f"http://127.0.0.1:{port}/api/v1/targets"))["data"]["activeTargets"]
                self.assertEqual({t["labels"]["job"]: t["lastError"] for t in targets},
                                 {"right": "", "wrong": "server returned HTTP status 401 Unauthorized"})
                about = json.loads(fetch(f"http://127.0.0.1:{port}/api/v1/metadata?metric=holdup_build"))["data"]
                self.assertEqual(about["holdup_build"][0]["type"], "info", "it was scraped as OpenMetrics")
            finally:
                prometheus.terminate()
                prometheus.wait(PATIENCE)


def ask_for(query: str, what: str) -> Any:
    answer = fetch(query + urllib.parse.quote(what))
    return answer and json.loads(answer)["data"]["result"]


def cpu_ticks(pid: int) -> int:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    unittest.main()
