//! A verdict for people and programs: human, json, sarif, github, gitleaks.
