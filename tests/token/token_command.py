"""`muster token` as people use it: files, rights, rotation, and what is never printed."""

import os
import stat
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MUSTER = sys.argv.pop(1)


class TokenCommand(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="muster-token-")
        self.addCleanup(folder.cleanup)
        self.config = Path(folder.name) / "config"
        self.path = self.config / "muster" / "token"

    def run_muster(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        keep = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_")}
        environment = {**keep, "XDG_CONFIG_HOME": str(self.config), **more}
        return subprocess.run(
            [MUSTER, "token", *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def test_is_made_on_first_use_for_its_owner_only(self) -> None:
        first = self.run_muster("show")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertTrue(first.stdout.startswith("muster-token-1-"))
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.path.parent.stat().st_mode), 0o700)
        self.assertEqual(self.run_muster("show").stdout, first.stdout)

    def test_processes_that_make_it_at_once_all_have_the_same(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            shown = {done.stdout for done in pool.map(lambda _: self.run_muster("show"), range(8))}
        self.assertEqual(len(shown), 1)

    def test_new_does_not_print_the_token_and_keeps_the_old_one_if_told(self) -> None:
        old = self.run_muster("show").stdout.strip()
        made = self.run_muster("new", "--keep-old", "1h")
        self.assertEqual(made.returncode, 0, made.stderr)
        new = self.run_muster("show").stdout.strip()
        self.assertTrue(new.startswith("muster-token-2-"), made.stdout)
        self.assertIn("generation 1 is accepted for", made.stdout)
        for secret in (old.split("-")[3], new.split("-")[3]):
            self.assertNotIn(secret, made.stdout + made.stderr)
        self.assertIn(old, self.path.read_text())
        self.assertNotIn(old, self.rotate_without_grace())

    def rotate_without_grace(self) -> str:
        self.assertEqual(self.run_muster("new").returncode, 0)
        return self.path.read_text()

    def test_a_file_that_others_may_read_is_refused(self) -> None:
        secret = self.run_muster("show").stdout.split("-")[3]
        self.path.chmod(0o644)
        refused = self.run_muster("show")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("chmod 600", refused.stderr)
        self.assertNotIn(secret, refused.stdout + refused.stderr)

    def test_the_environment_goes_before_the_users_file(self) -> None:
        token = self.run_muster("show").stdout.strip()
        self.path.unlink()
        self.assertEqual(self.run_muster("show", MUSTER_TOKEN=token).stdout.strip(), token)
        self.assertFalse(self.path.exists())
        self.assertEqual(self.run_muster("new", MUSTER_TOKEN=token).returncode, 1)
        broken = self.run_muster("show", MUSTER_TOKEN=token[:-1])
        self.assertEqual(broken.returncode, 1)
        self.assertNotIn(token.split("-")[3], broken.stderr)

    def test_a_named_file_that_is_missing_is_not_made_by_showing_it(self) -> None:
        other = self.config / "other"
        self.assertEqual(self.run_muster("show", "--file", str(other)).returncode, 1)
        self.assertFalse(other.exists())
        self.assertEqual(self.run_muster("new", "--file", str(other)).returncode, 0)
        self.assertEqual(self.run_muster("show", MUSTER_TOKEN_FILE=str(other)).returncode, 0)

    def test_a_token_where_a_path_should_be_is_not_repeated(self) -> None:
        token = self.run_muster("show").stdout.strip()
        for words, more in ((("--file", token), {}), ((), {"MUSTER_TOKEN_FILE": token})):
            for verb in ("show", "new"):
                told = self.run_muster(verb, *words, **more)
                self.assertEqual(told.returncode, 1)
                self.assertNotIn(token.split("-")[3], told.stdout + told.stderr)

    def test_wrong_use_is_told(self) -> None:
        for keep in ("soon", "-1s", "99999999999999999s", "18446744073709551615"):
            self.assertEqual(self.run_muster("new", "--keep-old", keep).returncode, 2, keep)
        self.assertFalse(self.path.exists())
        self.assertEqual(self.run_muster().returncode, 2)


if __name__ == "__main__":
    unittest.main()
