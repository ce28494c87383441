//! The rules in force, and the schema they are written in.
//!
//! Promise: a `RuleSet` holds at least one rule, every one of them usable, and is known by a digest
//! of everything that decides what it finds. Reading the text is `super::config`'s job, merging and
//! judging it `super::merge`'s.
//!
//! # Schema
//!
//! gitleaks' TOML (its version 8.30.1): at the top `title`, `description`, `minVersion`, `[extend]`,
//! `[[rules]]`, `[[allowlists]]`; per rule `id`, `description`, `regex`, `path`, `secretGroup`,
//! `entropy`, `keywords`, `tags`, `skipReport`, `[[rules.allowlists]]`, `[[rules.required]]`. Regexes are
//! in RE2's syntax. tyran adds these keys to a rule, all optional:
//!
//! | key | type | meaning |
//! |---|---|---|
//! | `severity` | `"low"`, `"medium"`, `"high"`, `"critical"` | how bad a leak is; `"high"` when not said |
//! | `confidence` | `"note"`, `"low"`, `"medium"`, `"high"` | how sure a hit is; `"medium"` when not said |
//! | `url` | text | where the credential is documented |
//! | `remedy` | text | what to do on a leak: where to revoke it |
//! | `shape` | text or list | what the credential looks like, instead of a `regex`: see [`super::shape`], which makes `regex` and, where the rule has none, `keywords` from it |
//! | `names` | list | with `shape`: found only where one of these names is given such a value |
//! | `checksum` | name of a validator in [`super::verify`] | what the secret must satisfy; one that does has confidence `"high"` |
//! | `on_invalid` | `"note"`, `"drop"` | a secret that fails its checksum is lowered to a note (when not said), or is no finding |
//! | `on_valid` | `"raise"`, `"keep"` | whether a satisfied checksum raises the confidence (when not said) or leaves it |
//! | `distinct` | number | least number of distinct characters in the secret |
//! | `requires` | list of `"digit"`, `"lower"`, `"upper"`, `"letter"`, `"symbol"` | kinds of characters of which the secret must hold at least one each |
//! | `stopwords` | list | words (letters and digits, ignoring case) which make the secret harmless when they stand in it *as a whole word* |
//! | `placeholders` | `"keep"`, `"note"`, `"drop"` | what becomes of a secret that is an evident dummy (see `super::placeholder`); `"keep"` when not said |
//! | `files` | list of globs | the rule is for these files only. An item without a path is taken for one of them |
//! | `not_files` | list of globs | the rule is not for these files |
//! | `[rules.context]` | table | what must stand near the match, see below |
//! | `examples` | list | texts in which the rule must find something, in the grammar of [`super::example`] |
//! | `counter_examples` | list | texts in which it must find nothing, in the same grammar |
//!
//! A glob matches the whole path when it holds a `/`, else the last name only; `*` and `?` do not
//! cross a `/`, `**` does, `[a-z]` and `{one,other}` work, letter case does not matter.
//!
//! `[rules.context]`: `any` (list of words, one of which must be near, ignoring case, as a substring),
//! `none` (none of these may stand on the match's own lines), `lines` (how many lines before and after
//! count as near; 0 when not said: the match's own lines), `path = true` (one of `any` in the path
//! will do as well).
//!
//! A rule whose `regex` is absent and whose `path` matches reports the file itself.
//!
//! Without `--compat` an unknown key is an error, as is everything else that gitleaks passes over in
//! silence (a misspelt section, an allowlist that attaches to nothing, no rules at all).
