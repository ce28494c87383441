//! Remotes: which one a push takes, all its push urls, and its refspecs.
//!
//! Promise: the answer is that of git's remote.c (2.47 to 2.55): names, urls and paths, rewriting by
//! `insteadOf` and `pushInsteadOf`, several push urls, the legacy files `.git/remotes/NAME` and
//! `.git/branches/NAME`, and groups where git knows them.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use crate::payload::Fault;
use crate::text::SafeText;

use super::config::{Configuration, Setting};
use super::refspec::Refspec;

/// A remote as a push sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// Its name; the url or path itself for one that is not configured.
    pub name: BString,
    /// Where a push goes: each is a push of its own.
    pub push_urls: Vec<BString>,
    /// `remote.NAME.push`, raw.
    pub push: Vec<BString>,
    /// `remote.NAME.fetch`, raw; it says which local refs claim to be the remote's.
    pub fetch: Vec<BString>,
    /// `remote.NAME.mirror`.
    pub mirror: bool,
    /// `remote.NAME.vcs`: a helper program of this name is what is talked to.
    pub helper: Option<BString>,
    /// `remote.NAME.receivepack`: the program at the other end.
    pub receive_pack: Option<BString>,
    /// Whether it is known by a name of configuration or of a legacy file: then submodules get its name.
    pub configured: bool,
}

/// The part of a remote that is still as written.
#[derive(Debug, Default)]
struct Written {
    remote: Remote,
    urls: Vec<BString>,
    push_urls: Vec<BString>,
}

/// One rule that rewrites the start of a url.
#[derive(Debug)]
struct Rewrite {
    base: BString,
    from: BString,
}

/// All remotes, and what else of the configuration decides where a push goes.
#[derive(Debug)]
pub struct Remotes {
    written: Vec<Written>,
    rewrites: Vec<Rewrite>,
    push_rewrites: Vec<Rewrite>,
    groups: Vec<(BString, Vec<BString>)>,
    push_default: Option<BString>,
    branches: Vec<BranchSettings>,
    default_branch: Option<BString>,
    common_dir: std::path::PathBuf,
}

/// `branch.NAME.*`, as far as a push reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchSettings {
    /// The branch, without `refs/heads/`.
    pub name: BString,
    /// `branch.NAME.remote`.
    pub remote: Option<BString>,
    /// `branch.NAME.pushRemote`.
    pub push_remote: Option<BString>,
    /// `branch.NAME.merge`, all of them.
    pub merge: Vec<BString>,
}

impl BranchSettings {
    /// The refs that it merges from; none without a remote, as git has it.
    pub fn upstreams(&self) -> &[BString] {
        if self.remote.is_some() { &self.merge } else { &[] }
    }
}

impl Remotes {
    /// Reads them out of the configuration. Legacy files are read when a name is looked up.
    pub fn read(config: &Configuration, common_dir: &Path) -> Self {
        let mut remotes = Self {
            written: Vec::new(),
            rewrites: rewrites(config, "insteadof"),
            push_rewrites: rewrites(config, "pushinsteadof"),
            groups: groups(config),
            push_default: config.last("remote.pushdefault").map(BString::from),
            branches: branches(config),
            default_branch: config.last("init.defaultbranch").filter(|name| !name.is_empty()).map(BString::from),
            common_dir: common_dir.to_owned(),
        };
        for (name, variable, setting) in config.named("remote") {
            // git ignores a name that looks like a path.
            if name.starts_with(b"/") {
                continue;
            }
            remotes.set(name, variable, setting);
        }
        remotes
    }

    fn set(&mut self, name: &BStr, variable: &BStr, setting: &Setting) {
        if !self.written.iter().any(|written| written.remote.name == name) {
            self.written.push(Written::named(name));
        }
        if let Some(written) = self.written.iter_mut().find(|written| written.remote.name == name) {
            written.set(variable, setting.text(), setting.truth());
        }
    }

    /// The settings of a branch, given by its short name.
    pub fn branch(&self, name: &BStr) -> BranchSettings {
        let found = self.branches.iter().find(|branch| branch.name == name);
        found.cloned().unwrap_or_else(|| BranchSettings { name: name.into(), ..BranchSettings::default() })
    }

    /// The remote that a branch fetches from: its own, the only one, or `origin`.
    pub fn fetch_name(&self, branch: Option<&BranchSettings>) -> (BString, Given) {
        if let Some(name) = branch.and_then(|branch| branch.remote.clone()) {
            return (name, Given::ByName);
        }
        match self.written.as_slice() {
            [only] => (only.remote.name.clone(), Given::ByDefault),
            _ => ("origin".into(), Given::ByDefault),
        }
    }

    /// The remote that a branch pushes to when the line names none.
    pub fn push_name(&self, branch: Option<&BranchSettings>) -> (BString, Given) {
        if let Some(name) = branch.and_then(|branch| branch.push_remote.clone()).or_else(|| self.push_default.clone()) {
            return (name, Given::ByName);
        }
        self.fetch_name(branch)
    }

    /// Every name that a push without a repository argument might take, whatever branch is current.
    pub fn every_push_name(&self) -> Vec<(BString, Given)> {
        let mut names = vec![self.push_name(None)];
        for branch in &self.branches {
            let name = self.push_name(Some(branch));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The members of the group `name`; empty when there is no such group.
    pub fn group(&self, name: &BStr) -> &[BString] {
        self.groups.iter().find(|(group, _)| group == name).map_or(&[], |(_, members)| members.as_slice())
    }

    /// The remote that `name` stands for: a configured one, one of a legacy file, else the url or path
    /// itself. `None`: nothing to push to, and git says so.
    ///
    /// # Errors
    /// When a legacy file is there and cannot be read.
    pub fn find(&self, name: &BStr, given: Given) -> Result<Option<Remote>, Fault> {
        let mut written = match self.written.iter().find(|written| written.remote.name == name) {
            Some(known) => known.again(),
            None => Written::named(name),
        };
        // Urls from the configuration are rewritten once all are known; later ones as they come.
        let mut push_urls: Vec<BString> = written.push_urls.iter().map(|url| self.rewritten(url)).collect();
        if push_urls.is_empty() {
            push_urls = written.urls.iter().filter_map(|url| rewrite(url, &self.push_rewrites)).collect();
        }
        let mut urls: Vec<BString> = written.urls.iter().map(|url| self.rewritten(url)).collect();
        if is_nick(name) {
            for read in [legacy_remote, legacy_branch] {
                if urls.is_empty() {
                    let more = read(self, &mut written.remote)?;
                    self.add(&more, &mut urls, &mut push_urls);
                }
            }
        }
        if urls.is_empty() && given == Given::ByName {
            self.add(&[name.into()], &mut urls, &mut push_urls);
        }
        if urls.is_empty() {
            return Ok(None);
        }
        written.remote.push_urls = if push_urls.is_empty() { urls } else { push_urls };
        Ok(Some(written.remote))
    }

    /// Adds urls that are rewritten as they come (`add_url_alias`).
    fn add(&self, more: &[BString], urls: &mut Vec<BString>, push_urls: &mut Vec<BString>) {
        for url in more.iter().filter(|url| !url.is_empty()) {
            urls.push(self.rewritten(url));
            push_urls.extend(rewrite(url, &self.push_rewrites));
        }
    }

    fn rewritten(&self, url: &BString) -> BString {
        rewrite(url, &self.rewrites).unwrap_or_else(|| url.clone())
    }

    /// The configured remotes that push to, or fetch from, this url.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn with_url(&self, url: &BStr) -> Result<Vec<Remote>, Fault> {
        let mut found = Vec::new();
        for written in &self.written {
            let fetched = written.urls.iter().any(|own| self.rewritten(own) == url);
            let remote = self.find(written.remote.name.as_ref(), Given::ByDefault)?;
            found.extend(remote.filter(|remote| fetched || remote.push_urls.iter().any(|own| own == url)));
        }
        Ok(found)
    }
}

/// Whether a remote's name was said, by the line or by configuration, or is git's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Said: it may be a url or a path.
    ByName,
    /// The only remote, or `origin`: it must be configured.
    ByDefault,
}

impl Written {
    fn named(name: &BStr) -> Self {
        Self { remote: Remote { name: name.into(), ..Remote::default() }, ..Self::default() }
    }

    fn again(&self) -> Self {
        Self { remote: self.remote.clone(), urls: self.urls.clone(), push_urls: self.push_urls.clone() }
    }

    fn set(&mut self, variable: &BStr, value: &BStr, truth: bool) {
        self.remote.configured = true;
        match variable.as_bytes() {
            b"url" => set_url(&mut self.urls, value),
            b"pushurl" => set_url(&mut self.push_urls, value),
            b"push" => self.remote.push.push(value.into()),
            b"fetch" => self.remote.fetch.push(value.into()),
            b"mirror" => self.remote.mirror = truth,
            b"vcs" => self.remote.helper = Some(value.into()),
            // git takes the first and says so.
            b"receivepack" if self.remote.receive_pack.is_none() => self.remote.receive_pack = Some(value.into()),
            _ => {}
        }
    }
}

/// An empty value clears the list (git 2.46 and later).
fn set_url(urls: &mut Vec<BString>, value: &BStr) {
    if value.is_empty() {
        urls.clear();
    } else {
        urls.push(value.into());
    }
}

fn rewrites(config: &Configuration, kind: &str) -> Vec<Rewrite> {
    // Rules are grouped by base, in the order in which bases come first; that decides between equals.
    let mut bases: Vec<BString> = Vec::new();
    let mut rules: Vec<Rewrite> = Vec::new();
    for (base, variable, setting) in config.named("url") {
        if variable == kind {
            if !bases.iter().any(|known| known == base) {
                bases.push(base.into());
            }
            rules.push(Rewrite { base: base.into(), from: setting.text().into() });
        }
    }
    rules.sort_by_key(|rule| bases.iter().position(|base| *base == rule.base));
    rules
}

/// The url with its longest matching start rewritten; the first rule wins among equals.
fn rewrite(url: &BString, rules: &[Rewrite]) -> Option<BString> {
    let mut longest: Option<&Rewrite> = None;
    for rule in rules.iter().filter(|rule| url.starts_with(&rule.from)) {
        if longest.is_none_or(|best| best.from.len() < rule.from.len()) {
            longest = Some(rule);
        }
    }
    let rule = longest?;
    let rest = url.strip_prefix(rule.from.as_slice())?;
    Some([rule.base.as_slice(), rest].concat().into())
}

fn groups(config: &Configuration) -> Vec<(BString, Vec<BString>)> {
    let mut groups: Vec<(BString, Vec<BString>)> = Vec::new();
    for setting in config.settings() {
        let Some(name) = setting.key.strip_prefix(b"remotes.") else { continue };
        let members =
            setting.text().split(|byte| b" \t\n".contains(byte)).filter(|word| !word.is_empty()).map(BString::from);
        match groups.iter_mut().find(|(group, _)| group == name) {
            Some((_, known)) => known.extend(members),
            None => groups.push((name.into(), members.collect())),
        }
    }
    groups
}

fn branches(config: &Configuration) -> Vec<BranchSettings> {
    let mut branches: Vec<BranchSettings> = Vec::new();
    for (name, variable, setting) in config.named("branch") {
        let place = branches.iter().position(|branch| branch.name == name).unwrap_or_else(|| {
            branches.push(BranchSettings { name: name.into(), ..BranchSettings::default() });
            branches.len() - 1
        });
        let Some(branch) = branches.get_mut(place) else { continue };
        match variable.as_bytes() {
            b"remote" => branch.remote = Some(setting.text().into()),
            b"pushremote" => branch.push_remote = Some(setting.text().into()),
            b"merge" => branch.merge.push(setting.text().into()),
            _ => {}
        }
    }
    branches
}

/// Whether legacy files are looked for under this name.
fn is_nick(name: &BStr) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(&b'/')
}

/// `.git/remotes/NAME`: lines of `URL:`, `Push:` and `Pull:`. Returns its urls.
fn legacy_remote(remotes: &Remotes, remote: &mut Remote) -> Result<Vec<BString>, Fault> {
    let Some(text) = read_legacy(&remotes.common_dir, "remotes", &remote.name)? else { return Ok(Vec::new()) };
    remote.configured = true;
    let mut urls = Vec::new();
    for line in text.lines() {
        let line = line.trim_end();
        if let Some(url) = line.strip_prefix(b"URL:") {
            set_url(&mut urls, url.trim_start().as_bstr());
        } else if let Some(push) = line.strip_prefix(b"Push:") {
            remote.push.push(push.trim_start().into());
        } else if let Some(fetch) = line.strip_prefix(b"Pull:") {
            remote.fetch.push(fetch.trim_start().into());
        }
    }
    Ok(urls)
}

/// `.git/branches/NAME`: `url#branch`, to which HEAD is pushed. Returns its url.
fn legacy_branch(remotes: &Remotes, remote: &mut Remote) -> Result<Vec<BString>, Fault> {
    let Some(text) = read_legacy(&remotes.common_dir, "branches", &remote.name)? else { return Ok(Vec::new()) };
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        return Ok(Vec::new());
    }
    remote.configured = true;
    let (url, branch) = match line.split_once_str("#") {
        Some((url, branch)) => (url, branch.as_bstr()),
        None => (line, remotes.default_branch.as_ref().map_or(BStr::new("master"), |name| name.as_bstr())),
    };
    remote.fetch.push([b"refs/heads/", branch.as_bytes(), b":refs/heads/", remote.name.as_slice()].concat().into());
    remote.push.push([b"HEAD:refs/heads/", branch.as_bytes()].concat().into());
    Ok(vec![url.into()])
}

fn read_legacy(common_dir: &Path, folder: &str, name: &BString) -> Result<Option<BString>, Fault> {
    let path = common_dir.join(folder).join(std::ffi::OsStr::from_bytes(name));
    match fs::read(&path) {
        Ok(text) => Ok(Some(text.into())),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(Fault::File {
            path: SafeText::quoted(path.as_os_str().as_bytes(), 200),
            what: error.to_string().into(),
        }),
    }
}

/// Refspecs from their raw forms. `None`: one is invalid, and git pushes nothing.
pub fn parsed(raw: &[BString], hex_length: usize) -> Option<Vec<Refspec>> {
    raw.iter().map(|text| Refspec::parse(text.as_ref(), hex_length)).collect()
}
