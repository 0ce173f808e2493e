# SPDX-License-Identifier: Apache-2.0
"""What `holdup run` leaves behind holds no secret: each shape of one goes in, every byte that comes out is searched."""
from __future__ import annotations

import base64
import pathlib
import shlex
import subprocess
import tempfile
import time
import unittest

from tests.program import EXE, ROOT
from tests.recorder import environment, holdup

S = "s3cr3tHUSH"                    # what must not be found anywhere
LONG = "s3cr3tHUSH0123456789abcdefABCDEF"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzIjoiczNjcjN0SFVTSCJ9.s3cr3tHUSHsignature"

# Arguments of a command.
ARGUMENTS = [
    [f"--password={S}"], ["--password", S], ["--password", f"two words {S}"], [f"--token={S}"], ["--hf-token", S], ["--api-key", S], [f"--apikey={S}"],
    ["--api_key", S], [f"--client-secret={S}"], ["-password", S], ["--passphrase", S], [f"--wandb_key={S}"], ["--aws-secret-access-key", S],
    [f"HF_TOKEN={S}"], [f"WANDB_API_KEY={S}"], [f"AWS_ACCESS_KEY_ID={S}"], [f"AZURE_OPENAI_KEY={S}"], [f"PGPASSWORD={S} x"],
    [f"https://h/?a=1&token={S}"], [f"https://h/?token={S}&a=1"], [f"https://h/x?X-Amz-Signature={S}#a"], [f"https://me:{S}@h/x"], [f"https://{S}@h/x"],
    [f"postgresql://me:{S}@h:5432/db?sslmode=require"], [f"redis://:{S}@h"], [f"postgres://me:a/{S}@h/db"], [f"me:{S}@h:/x"], [f"http_proxy=me:{S}@proxy:3128"],
    ["--header", f"Authorization: Bearer {S}"], ["-H", f"X-Api-Key: {S}"], [f"-HPRIVATE-TOKEN: {S}"], ["-H", f"Cookie: a={S}; b={S}"],
    [f"--header=Authorization: Basic {S}"], ["-b", f"sessionid={S}"],
    [f"-ps3cr3t{S}"], ["mysql", f"-p{S}"], ["sshpass", "-p", S], ["docker", "login", "-u", "me", "-p", S], ["redis-cli", "-a", S], ["curl", "-u", f"me:{S}"], [f"-ume:{S}"],
    ["wandb", "login", LONG], [f"hf_{LONG}"], [f"sk-{LONG}"], [f"ghp_{LONG}"], [f"github_pat_{LONG}"], [f"glpat-{LONG}"], [f"xoxb-1-{LONG}"], [f"AIza{LONG}"],
    [f"npm_{LONG}"], [f"pypi-{LONG}"], [f"nvapi-{LONG}"], [f"/x/hf_{LONG}/y"], [JWT],
    [f"-----BEGIN RSA PRIVATE KEY-----\n{S}\n{S}\n-----END RSA PRIVATE KEY-----\n"],
    [f"WORLD=1 HF_TOKEN={S} true"], [f"x --password {S}"], [f"x --password '{S} {S}' --lr 3"], [f"x --password \"{S}\\\" {S}\" y"], [f"x --password {S}\\ {S}"],
    [f"curl -H 'Authorization: Bearer {S}' https://h; true"], [f"bash -c \"x --token '{S}'\""], [f"export A=1;TOKEN={S};ls"], [f"mysql -u root -p{S} db"],
    [f'{{"token": "{S}", "lr": 1}}'], [f'"{{\\"api_key\\": \\"{S}\\"}}"'], [f"{{'password':'{S} {S}'}}"], [f"['x', '--password', '{S}']"],
    [f"import os; os.environ['HF_TOKEN'] = '{S}'; f(lr=1)"], [f"login(token=\"{S}\")"], [f"host=h user=u password={S} dbname=d"], [f"Server=h;Uid=u;Pwd={S};"],
    [f"openssl enc -passin pass:{S}"], [f"user=u,password={S}"],
    ["curl", "-sSu", f"me:{S}"], ["curl", "-Lu", f"me:{S}"], [f"curl -sSfu me:{S} h"], [f"curl -sSu 'me:{S}' h"], [f"curl -sSume:{S} h"],
    ["http", "-a", f"me:{S}"], ["lftp", "-u", f"me,{S}"], [f"lftp -u me,{S} h"], ["smbclient", "-U", f"me%{S}"], [f"smbclient -Ume%{S} //h/x"],
    [f"SSHPASS={S}"], [f"DBPASS={S}"], ["--dbpass", S], [f"DB_PW={S}"], ["--pw", S], [f"https://h/?pw={S}&a=1"], [f"--creds={S}"], [f"MY_CRED={S}"], [f"--tokens={S}"],
    ["--hf-tokens", S], ["wandb", "login", "--host", "https://w.corp", LONG], [f"wandb login --host=https://w.corp '{LONG}'"],
    [f"https://hooks.slack.com/services/T01/B01/{LONG}"], [f"https://discord.com/api/webhooks/1234/{LONG}"], [f"https://api.telegram.org/bot123:{LONG}/sendMessage"],
    ["mpiexec", "-genv", "WANDB_API_KEY", S], ["mpiexec", "-env", "WANDB_API_KEY", S], [f"setenv HF_TOKEN {S}; x"], [f"mpiexec -genv HF_TOKEN {S} x"],
    ["aws", "configure", "set", "aws_secret_access_key", S], ["ngrok", "authtoken", S], [f"os.environ.setdefault('WANDB_API_KEY', '{S}')"],
    [f"python3 -c \"import os; os.environ.setdefault('WANDB_API_KEY', '{S}')\""],
]

# Texts that stay as they are.
INNOCENTS = [
    ["--tokenizer=gpt2"], ["--max-tokens", "512"], ["--max-new-tokens=64"], ["--num-key-value-heads", "8"], ["KEYBOARD=de"], ["-p", "8080"], ["-np", "4"],
    ["--pad-token-id", "0"], ["--eos-token", "</s>"], ["MONKEY=1"], ["TOKENIZERS_PARALLELISM=false"], ["PWD=/home/x"], ["--secretary", "bob"], ["--secretary=bob"],
    ["-p8080:80"], ["-pthread"], ["-pix_fmt", "yuv420p"], ["--user", "1000:1000"], ["--input-key", "context"], ["--image-token-index=32000"], ["--sort-key=name"],
    ["--passes", "3"], ["--compass", "north"], ["--author=me"], ["s3://bucket/key.txt"], ["https://host:8080/a@b"], ["nvcr.io/nvidia/pytorch:24.05@sha256:00ff"],
    ["user@host"], ["node01:29500"], ["--rdzv-endpoint=node01:29500"], ["LD_LIBRARY_PATH=/opt/token:/usr/lib"], ["std::token"], ["hf_transfer"], ["sk-learn"],
    ["--hf_hub_download"], ["model.layers.0.attn.key_proj"], ["a40d3c1f7f0c1e9d3b5a7c9e1f3d5b7a9c1e3f50"], ["--lr=0.1"], ["--use-auth-token", "false"], ["--no-auth"],
    ["--max-new-tokens", "128"], ["--num-tokens", "8"], ["tokens=512"], ["--tokens", "8k"], ["--bypass=x"], ["COMPASS=x"], ["--trespass", "x"], ["--lowpass", "x"],
    ["-genv", "OMP_NUM_THREADS", "4"], ["os.environ.setdefault('OMP_NUM_THREADS', '4')"], ["-cpu", "host:x"], ["-itu", "1000:1000"], ["tar", "-u", "a,b"], ["dapi_version"],
]

# Calls whose texts are recorded, beside system(): what they are given.
CALLS = r"""
#include <fcntl.h>
#include <holdup_annotate.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static void finish(pid_t p) { int s; waitpid(p, &s, 0); }
int main(int argc, char **argv)
{
    const char *secret = getenv("GIVEN");   /* of an argument, it would be searched for in vain */
    char text[400], path[400];
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    FILE *f;
    pid_t p;
    if (argc > 1) { usleep(2000); return 0; }
    snprintf(text, sizeof text, "true --password %s", secret);
    if (system(text)) return 1;
    f = popen(text, "r"); if (f) pclose(f);
    snprintf(text, sizeof text, "true -H 'Authorization: Bearer %s'", secret);
    if (system(text)) return 2;
    snprintf(path, sizeof path, "/tmp/none?token=%s&x", secret);
    if (open(path, O_RDONLY) >= 0) return 3;
    f = fopen(path, "r"); if (f) return 4;
    mkdir(path, 0); rmdir(path); unlink("/none"); access(path, 0);
    snprintf(to.sun_path, sizeof to.sun_path, "/tmp/token=%s", secret);
    int s = socket(AF_UNIX, SOCK_STREAM, 0); connect(s, (void *)&to, sizeof to); close(s);
    snprintf(path, sizeof path, "token=%s-file", secret);
    int fd = open(path, O_RDWR | O_CREAT, 0600); if (fd < 0 || write(fd, "x", 1) != 1) return 5;
    fsync(fd); close(fd); unlink(path);
    snprintf(text, sizeof text, "--token=%s", secret);
    char *const one[] = {argv[0], text, NULL}, *const two[] = {argv[0], "--password", (char *)secret, NULL};
    if (posix_spawn(&p, argv[0], NULL, NULL, one, environ) == 0) finish(p);
    if ((p = fork()) == 0) { execv(argv[0], two); _exit(1); }
    finish(p);
    if ((p = vfork()) == 0) { execv(argv[0], two); _exit(1); }
    finish(p);
    if ((p = fork()) == 0) { execl(text, text, (char *)0); _exit(0); }      /* there is no such program */
    finish(p);
    snprintf(path, sizeof path, "pw --token=%s", secret);                   /* cut to 15 by the kernel */
    prctl(PR_SET_NAME, path);
    pthread_setname_np(pthread_self(), "token=s3cr3tH");
    if (getenv("RANGES")) {
        snprintf(text, sizeof text, "request token=%s", secret);
        holdup_range_push(text); usleep(1000); holdup_range_pop(); holdup_mark(text);
        holdup_range_push("plain --max-tokens 512"); usleep(1000); holdup_range_pop();
    }
    usleep(50000);
    if (getenv("WAIT")) { puts("ready"); fflush(stdout); sleep(30); }
    return 0;
}
"""


GIVEN = ("each.sh", "calls.c", "calls.bin")      # of the tests themselves


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-redact-"))
        self.addCleanup(subprocess.run, ["rm", "-rf", str(self.folder)], check=False)
        self.texts: dict[str, bytes] = {}

    def keep(self, what: str, done: subprocess.CompletedProcess) -> None:
        self.texts[what] = done.stdout.encode(errors="surrogateescape") + done.stderr.encode(errors="surrogateescape")

    def record(self, *words: str, env: dict[str, str] | None = None, options: tuple[str, ...] = ()) -> None:
        done = holdup("run", "--keep-rings", "-o", "out", "-f", "--sample=99", *options, "--", *words, cwd=self.folder, env=environment(**(env or {})))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.keep("run", done)

    def look(self, trace: str = "out.pftrace") -> None:
        """At all that others would be shown of it."""
        for words in (["report"], ["report", "--json"], ["report", "--view", "health"], ["report", "--view", "calls"], ["info"]):
            self.keep(" ".join(words), holdup(*words, self.folder / trace))
        self.keep("slices", holdup("query", self.folder / trace, "select * from slice", "--json"))

    def everything(self) -> dict[str, bytes]:
        files = {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.rglob("*") if p.is_file() and p.name not in GIVEN}
        return {**files, **self.texts}

    def search(self, *secrets: str) -> None:
        found = self.everything()
        self.assertTrue(any(name.endswith(".ring") for name in found), sorted(found))
        for name, data in found.items():
            for secret in secrets:
                at = data.find(secret.encode())
                if at >= 0:
                    self.fail(f"{name} holds {secret!r}: ...{data[max(0, at - 80):at + 40]!r}")


class Arguments(Case):
    def test_secrets(self) -> None:
        """Each as arguments of the command, and of a shell inside of one, and all at once in one trace."""
        script = self.folder / "each.sh"
        script.write_text("".join(f"sh -c true x {shlex.join(words)}\n" for words in ARGUMENTS))
        self.assertGreaterEqual(len(ARGUMENTS), 40)
        self.record("sh", str(script))
        self.look()
        self.search("s3cr3t", base64.b64encode(b"s3cr3t").decode()[:8])

    def test_the_command_itself(self) -> None:
        for words in ARGUMENTS[::7]:
            with self.subTest(words=words):
                self.record("sh", "-c", "true", "x", *words, options=("--no-report",))
                self.search("s3cr3t")

    def test_innocents(self) -> None:
        self.assertGreaterEqual(len(INNOCENTS), 20)
        script = self.folder / "each.sh"
        script.write_text("".join(f"sh -c true INNOCENT {shlex.join(words)}\n" for words in INNOCENTS))
        self.record("sh", str(script), options=("--no-report",))
        rings = b"\n".join(p.read_bytes() for p in self.folder.glob(".holdup-*/*.ring"))
        for words in INNOCENTS:
            self.assertIn(b"INNOCENT\0" + b"\0".join(w.encode() for w in words) + b"\0", rings, words)

    def test_environment(self) -> None:
        env = {"HF_TOKEN": S, "NCCL_SECRET": S, "WANDB_API_KEY": S, "NCCL_DEBUG": "INFO", "CUDA_PROXY": f"http://me:{S}@h", "TORCH_X": f"a --password {S}", "RANDOM": S,
               "UCX_Y": f"hf_{LONG}"}
        self.record("true", env=env, options=("--no-report",))
        kept = next(self.folder.glob(".holdup-*/environment")).read_text()
        self.assertIn("NCCL_DEBUG=INFO\n", kept)
        self.assertIn("CUDA_PROXY=http://***@h\n", kept)
        self.search("s3cr3t")

    def test_a_secret_names_no_file(self) -> None:
        """The default name is of the command: of the first argument of an interpreter that is a name, and no secret."""
        (self.folder / "s3cr3t.py").write_text("")
        interpreter = self.folder / "python3"      # that takes any option
        interpreter.write_text("#!/bin/sh\n/bin/sleep 0.01\n")
        interpreter.chmod(0o755)
        for words in (["--token", "s3cr3t.py"], ["--password", "s3cr3t.py", "--lr", "1"], ["--token=s3cr3t.py"], ["-genv", "HF_TOKEN", "s3cr3t.py"]):
            with self.subTest(words=words):
                before = set(self.folder.glob("*.pftrace"))
                done = holdup("run", "--no-report", "--", interpreter, *words, cwd=self.folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                made = [p.name for p in set(self.folder.rglob("*.pftrace")) - before]
                self.assertEqual(len(made), 1, done.stderr)
                self.assertNotIn("s3cr3t", " ".join(made) + done.stdout + done.stderr)
        done = holdup("run", "--no-report", "--", interpreter, "s3cr3t.py", cwd=self.folder)       # the same name that is none
        self.assertTrue(list(self.folder.glob("holdup-s3cr3t-*.pftrace")), done.stderr)


class Calls(Case):
    def setUp(self) -> None:
        super().setUp()
        (self.folder / "calls.c").write_text(CALLS)
        subprocess.run(["cc", "-O1", f"-I{ROOT / 'include'}", "-o", self.folder / "calls.bin", self.folder / "calls.c", "-lpthread", "-ldl"], check=True, capture_output=True)
        self.env = {"GIVEN": S}

    def test_texts_of_calls(self) -> None:
        self.record(str(self.folder / "calls.bin"), env=self.env, options=("--osrt-threshold", "0"))
        self.look()
        for call, text in (("system", "true --password ***"), ("popen", "true --password ***"), ("system", "true -H 'Authorization: Bearer ***'"),
                           ("open", "/tmp/none?token=***&x")):
            self.assertIn(text.encode(), (self.folder / "out.pftrace").read_bytes(), call)      # they are there, but for the secret
        self.search(S, "s3cr3tH")

    def test_ranges_on_request(self) -> None:
        env = {**self.env, "RANGES": "1"}
        self.record(str(self.folder / "calls.bin"), env=env, options=("--no-report",))
        self.look()
        self.assertIn(f"request token={S}", self.texts["slices"].decode())          # the program's own words, unless asked for
        self.record(str(self.folder / "calls.bin"), env=env, options=("--no-report", "--redact-ranges"))
        self.look()
        self.assertIn("request token=***", self.texts["slices"].decode())
        self.assertIn("plain --max-tokens 512", self.texts["slices"].decode())
        self.assertNotIn(S, self.texts["slices"].decode())

    def test_redacted_ranges_open_the_gate(self) -> None:
        """The gate knows a range by what the program said."""
        self.record(str(self.folder / "calls.bin"), env={**self.env, "RANGES": "1"}, options=("--no-report", "--redact-ranges", "-c", f"nvtx:request token={S}"))
        self.look()
        self.assertIn("request token=***", self.texts["slices"].decode())

    def test_while_it_runs_and_when_it_is_killed(self) -> None:
        """Rings lie on the disk while the program runs, and stay there when the supervisor is killed."""
        with subprocess.Popen([EXE, "run", "--no-report", "-o", "out", "-f", "--scratch", str(self.folder), str(self.folder / "calls.bin")], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.folder, env=environment(**self.env, WAIT="1")) as run:
            self.assertEqual(run.stdout and run.stdout.readline(), b"ready\n")
            time.sleep(0.3)
            self.search(S)
            run.send_signal(10)                                                     # SIGUSR1: a partial trace
            for _ in range(100):
                if list(self.folder.glob("*.partial.pftrace")):
                    break
                time.sleep(0.05)
            time.sleep(0.3)
            self.assertTrue(list(self.folder.glob("*.partial.pftrace")))
            child = subprocess.run(["pgrep", "-P", str(run.pid), "-f", "calls.bin"], capture_output=True, text=True, check=True).stdout.split()[0]
            run.kill()
            subprocess.run(["kill", "-9", child], check=False)
            run.wait()
        self.search(S)
        session = next(self.folder.glob(".holdup-*"))
        self.keep("finish", holdup("finish", session, "--keep", "-o", self.folder / "late.pftrace"))
        self.assertTrue((self.folder / "late.pftrace").exists(), self.texts["finish"])
        self.look("late.pftrace")
        self.search(S)


if __name__ == "__main__":
    unittest.main()
