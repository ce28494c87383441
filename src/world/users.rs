//! The homes of users, from the password database.
//!
//! Promise: HOME is never read. `/etc/passwd` is read first, which only root writes; what else the system asks
//! (a directory service) is asked through the system's own `getent` for a user who is not in it, since a
//! program that is linked statically cannot load the C library's modules for it. On other systems than Linux the
//! C library answers.

use std::path::PathBuf;
use std::sync::OnceLock;

/// The home directory of the user who runs this process, from the password database and not from
/// HOME: an adversary may set HOME, and tyran's own state must not move with it (principle 10).
#[cfg(unix)]
pub fn user_home() -> Option<PathBuf> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    HOME.get_or_init(|| database::home(database::Who::Id(nix::unistd::Uid::effective().as_raw()))).clone()
}

/// The home directory of the user called `name`, from the password database; `None` when there is none.
#[cfg(unix)]
pub fn home_of(name: &str) -> Option<PathBuf> {
    database::home(database::Who::Name(name))
}

/// Not established on this system.
#[cfg(not(unix))]
pub fn home_of(_name: &str) -> Option<PathBuf> {
    None
}

/// Not established on this system.
#[cfg(not(unix))]
pub fn user_home() -> Option<PathBuf> {
    None
}

#[cfg(unix)]
mod database {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;

    /// Where local users are listed (passwd(5)).
    const PASSWORDS: &str = "/etc/passwd";

    /// Whose home is asked for.
    #[derive(Clone, Copy)]
    pub enum Who<'a> {
        Id(u32),
        Name(&'a str),
    }

    pub fn home(who: Who<'_>) -> Option<PathBuf> {
        let listed = std::fs::read(PASSWORDS).ok().and_then(|file| home_in(&file, who));
        listed.or_else(|| elsewhere(who))
    }

    /// The home of the first such user in lines as passwd(5) describes them.
    fn home_in(lines: &[u8], who: Who<'_>) -> Option<PathBuf> {
        let (place, wanted) = match who {
            Who::Id(id) => (2, id.to_string()),
            Who::Name(name) => (0, name.to_owned()),
        };
        lines.split(|&byte| byte == b'\n').find_map(|line| {
            let fields: Vec<&[u8]> = line.split(|&byte| byte == b':').collect();
            let [name, _, _, _, _, home, _] = fields.as_slice() else { return None };
            // A line that begins with a sign speaks of other databases.
            let is_a_user = home.starts_with(b"/") && !name.starts_with(b"+") && !name.starts_with(b"-");
            (is_a_user && fields[place] == wanted.as_bytes()).then(|| PathBuf::from(OsStr::from_bytes(home)))
        })
    }

    #[cfg(target_os = "linux")]
    fn elsewhere(who: Who<'_>) -> Option<PathBuf> {
        use std::time::Duration;

        use crate::world::Environment;
        use crate::world::child::Job;

        /// What asks every database that nsswitch.conf(5) names, of the C library's own package.
        const GETENT: [&str; 2] = ["/usr/bin/getent", "/bin/getent"];
        /// A directory service that is slower keeps the user from logging in as well.
        const TIME_LIMIT: Duration = Duration::from_secs(2);
        const OUTPUT_LIMIT: usize = 64 << 10;

        let key = match who {
            Who::Id(id) => id.to_string(),
            // It would ask for a user by number, or read an option.
            Who::Name(name) if name.starts_with('-') || name.bytes().all(|byte| byte.is_ascii_digit()) => return None,
            Who::Name(name) => name.to_owned(),
        };
        let program = GETENT.iter().map(PathBuf::from).find(|path| path.is_file())?;
        let asked = Job {
            program,
            args: vec!["passwd".into(), key.into()],
            env: Environment::new(),
            dir: PathBuf::from("/"),
            input: Vec::new(),
            output_limit: OUTPUT_LIMIT,
            time_limit: TIME_LIMIT,
        };
        let done = asked.run().ok()?;
        done.status.success().then(|| home_in(&done.stdout, who)).flatten()
    }

    #[cfg(not(target_os = "linux"))]
    fn elsewhere(who: Who<'_>) -> Option<PathBuf> {
        let user = match who {
            Who::Id(id) => nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(id)),
            Who::Name(name) => nix::unistd::User::from_name(name),
        };
        user.ok().flatten().map(|user| user.dir)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const LINES: &[u8] =
            b"+@staff::0:0::/nis:\nroot:x:0:0:root:/root:/bin/bash\nbroken:x:7\nuser:x:1000:1000::/home/user:/bin/sh\n";

        #[test]
        fn a_user_is_found_by_number_and_by_name_and_lines_of_other_databases_are_none() {
            for who in [Who::Id(1000), Who::Name("user")] {
                assert_eq!(home_in(LINES, who), Some(PathBuf::from("/home/user")));
            }
            assert_eq!(home_in(LINES, Who::Id(0)), Some(PathBuf::from("/root")));
            for nobody in [Who::Id(7), Who::Id(100), Who::Name("broken"), Who::Name("+@staff"), Who::Name("")] {
                assert_eq!(home_in(LINES, nobody), None);
            }
        }

        /// The C library is the oracle.
        #[test]
        fn whoever_the_system_knows_is_known_and_nobody_else() {
            for name in ["root", "nobody", "daemon", "no-such-user-here", "-h", "0"] {
                let known = nix::unistd::User::from_name(name).unwrap().map(|user| user.dir);
                assert_eq!(home(Who::Name(name)), known, "{name}");
            }
            for id in [0, 1, 65_534, 4_000_000_001] {
                let known = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(id)).unwrap().map(|user| user.dir);
                assert_eq!(home(Who::Id(id)), known, "{id}");
            }
        }
    }
}
