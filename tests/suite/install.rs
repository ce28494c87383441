//! gitleaks is put in place whole and as pinned, or not at all.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tyran::install::fetch::{FetchFault, Limits, Origin, archive};
use tyran::install::gitleaks::{EnsureFault, Outcome, ensure};
use tyran::install::pins::Pin;
use tyran::install::place::{PlaceFault, placed};

use tyran::world::Environment;

use crate::support::gitleaks::real_gitleaks;
use crate::support::{Sandbox, shown};

const VERSION: &str = "1.2.3";

/// A program that says a version, as gitleaks does.
fn program() -> Vec<u8> {
    format!("#!/bin/sh\necho {VERSION}\n").into_bytes()
}

/// What an archive holds, in order.
enum Member<'a> {
    File(&'a str, &'a [u8]),
    Link(&'a str, &'a str),
    Folder(&'a str),
}

fn packed(members: &[Member<'_>]) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for member in members {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        // The name is written as it is: the library's own call would refuse one that climbs.
        let named = |header: &mut tar::Header, name: &str| {
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        };
        match member {
            Member::File(name, bytes) => {
                named(&mut header, name);
                header.set_size(bytes.len() as u64);
                header.set_cksum();
                tar.append(&header, *bytes).unwrap();
            }
            Member::Link(name, target) => {
                named(&mut header, name);
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                header.set_link_name(target).unwrap();
                header.set_cksum();
                tar.append(&header, std::io::empty()).unwrap();
            }
            Member::Folder(name) => {
                named(&mut header, name);
                header.set_entry_type(tar::EntryType::Directory);
                header.set_size(0);
                header.set_cksum();
                tar.append(&header, std::io::empty()).unwrap();
            }
        }
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn good_archive() -> Vec<u8> {
    packed(&[Member::File("LICENSE", b"words"), Member::File("gitleaks", &program()), Member::Folder("docs/")])
}

fn pin(archive: &[u8]) -> Pin {
    Pin {
        version: VERSION.to_owned(),
        archive: "gitleaks.tar.gz".to_owned(),
        sha256: hex::encode(Sha256::digest(archive)),
        member: "gitleaks".to_owned(),
        established: true,
    }
}

fn limits() -> Limits {
    Limits { total: Duration::from_secs(20), idle: Duration::from_millis(800), ..Limits::default() }
}

/// A server on the loopback which answers each connection with `answer`, given the path and its own address.
struct Server {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn new(answer: impl Fn(&str, &str, &mut TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let (own_url, counter) = (url.clone(), Arc::clone(&asked));
        // It ends with the process; a test asks it a bounded number of times.
        thread::spawn(move || {
            for connection in listener.incoming().take(64) {
                let Ok(mut connection) = connection else { return };
                let mut request = BufReader::new(connection.try_clone().unwrap());
                let mut first = String::new();
                if request.read_line(&mut first).unwrap_or(0) == 0 {
                    continue;
                }
                let mut line = String::new();
                while request.read_line(&mut line).unwrap_or(0) > 2 {
                    line.clear();
                }
                counter.fetch_add(1, Ordering::SeqCst);
                answer(first.split(' ').nth(1).unwrap_or(""), &own_url, &mut connection);
            }
        });
        Self { url, asked }
    }

    /// One that always sends these bytes.
    fn of(bytes: Vec<u8>) -> Self {
        Self::new(move |_, _, connection| respond(connection, &bytes, bytes.len()))
    }

    fn mirror(&self) -> Origin {
        Origin::parse(&format!("{}/", self.url)).unwrap()
    }
}

fn respond(connection: &mut TcpStream, bytes: &[u8], promised: usize) {
    let _ = write!(connection, "HTTP/1.1 200 OK\r\nContent-Length: {promised}\r\nConnection: close\r\n\r\n");
    let _ = connection.write_all(bytes);
}

fn redirect(connection: &mut TcpStream, to: &str) {
    let _ =
        write!(connection, "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

fn put(sandbox: &Sandbox, pin: &Pin, origin: &Origin) -> Result<Outcome, EnsureFault> {
    ensure(&sandbox.path("state"), pin, origin, limits(), &Environment::new(), &mut |_, _| {})
}

/// The fault, after which nothing may be in place nor lie about half done.
fn fault_of(pin: &Pin, origin: &Origin) -> EnsureFault {
    let sandbox = Sandbox::new();
    let fault = put(&sandbox, pin, origin).unwrap_err();
    assert_eq!(placed(&sandbox.path("state")).unwrap(), None);
    assert_eq!(names(&sandbox.path("state/bin")), ["lock"], "{fault}");
    fault
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn archive_from_a_mirror_is_put_in_place_and_found_again() {
    let sandbox = Sandbox::new();
    let archive = good_archive();
    let server = Server::of(archive.clone());
    let mut told = Vec::new();
    let outcome = ensure(
        &sandbox.path("state"),
        &pin(&archive),
        &server.mirror(),
        limits(),
        &Environment::new(),
        &mut |came, promised| {
            told.push((came, promised));
        },
    );
    let Ok(Outcome::Put(put_now)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(told.last().unwrap(), &(archive.len() as u64, Some(archive.len() as u64)));
    assert_eq!(fs::read(&put_now.path).unwrap(), program());
    assert_eq!(placed(&sandbox.path("state")).unwrap(), Some(put_now.clone()));
    for (path, mode) in [("state/bin", 0o700), (put_now.path.to_str().unwrap(), 0o700)] {
        assert_eq!(fs::metadata(sandbox.path(path)).unwrap().permissions().mode() & 0o777, mode);
    }
    let again = put(&sandbox, &pin(&archive), &server.mirror()).unwrap();
    assert_eq!(again, Outcome::WasThere(put_now));
    assert_eq!(server.asked.load(Ordering::SeqCst), 1);
}

#[test]
fn archive_from_a_file_is_put_in_place() {
    let sandbox = Sandbox::new();
    let archive = good_archive();
    fs::write(sandbox.path("archive"), &archive).unwrap();
    let origin = Origin::parse(sandbox.path("archive").to_str().unwrap()).unwrap();
    assert!(matches!(put(&sandbox, &pin(&archive), &origin).unwrap(), Outcome::Put(_)));
    let missing = Origin::parse(sandbox.path("nothing").to_str().unwrap()).unwrap();
    assert!(matches!(fault_of(&pin(&archive), &missing), EnsureFault::Fetch(FetchFault::File { .. })));
}

#[test]
fn redirects_are_followed_up_to_their_bound() {
    let archive = good_archive();
    let bytes = archive.clone();
    let server = Server::new(move |path, own, connection| match path {
        "/gitleaks.tar.gz" => redirect(connection, &format!("{own}/second")),
        "/second" => redirect(connection, "/third"),
        "/third" => respond(connection, &bytes, bytes.len()),
        _ => redirect(connection, &format!("{own}/around")),
    });
    let sandbox = Sandbox::new();
    assert!(matches!(put(&sandbox, &pin(&archive), &server.mirror()).unwrap(), Outcome::Put(_)));
    let around = Origin::parse(&format!("{}/around", server.url)).unwrap();
    let fault = fault_of(&pin(&archive), &around);
    assert!(matches!(fault, EnsureFault::Fetch(FetchFault::Redirects { limit: 5, .. })), "{fault}");
    assert_eq!(server.asked.load(Ordering::SeqCst), 3 + 6);
}

#[test]
fn archive_with_another_digest_is_not_opened() {
    // Not even an archive: if it were opened, the fault would be another.
    let server = Server::of(b"something else".to_vec());
    let fault = fault_of(&pin(&good_archive()), &server.mirror());
    assert!(matches!(fault, EnsureFault::Place(PlaceFault::Digest { bytes: 14, .. })), "{fault}");
}

#[test]
fn transfer_that_ends_early_is_a_fault() {
    let archive = good_archive();
    let half = archive[..archive.len() / 2].to_vec();
    let promised = archive.len();
    let server = Server::new(move |_, _, connection| respond(connection, &half, promised));
    let fault = fault_of(&pin(&archive), &server.mirror());
    assert!(matches!(fault, EnsureFault::Fetch(FetchFault::Connection { .. })), "{fault}");
}

#[test]
fn server_that_promises_too_little_is_noticed_by_the_digest() {
    let archive = good_archive();
    let bytes = archive.clone();
    let server = Server::new(move |_, _, connection| respond(connection, &bytes, bytes.len() - 7));
    let fault = fault_of(&pin(&archive), &server.mirror());
    assert!(matches!(fault, EnsureFault::Place(PlaceFault::Digest { .. })), "{fault}");
}

#[test]
fn server_that_stalls_is_given_up() {
    let archive = good_archive();
    let bytes = archive.clone();
    let in_the_body = Server::new(move |_, _, connection| {
        let _ = write!(connection, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
        let _ = connection.write_all(&bytes[..10]);
        thread::sleep(Duration::from_secs(30));
    });
    let before_the_answer = Server::new(|_, _, _| thread::sleep(Duration::from_secs(30)));
    for server in [in_the_body, before_the_answer] {
        let fault = fault_of(&pin(&archive), &server.mirror());
        assert!(matches!(fault, EnsureFault::Fetch(FetchFault::TooSlow { .. })), "{fault}");
    }
}

#[test]
fn body_without_end_is_cut_off() {
    let server = Server::new(|_, _, connection| {
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while connection.write_all(&[0u8; 65536]).is_ok() {}
    });
    let few = Limits { bytes: 1 << 20, ..limits() };
    let fault = archive(&pin(b""), &server.mirror(), few, &Environment::new(), &mut |_, _| {}).unwrap_err();
    assert!(matches!(fault, FetchFault::TooLarge { limit: 1_048_576, .. }), "{fault}");
}

#[test]
fn server_that_says_no_is_quoted_without_credentials() {
    let server = Server::new(|_, _, connection| {
        let _ = connection.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    let with_user = server.url.replace("http://", "http://person:word@");
    let origin = Origin::parse(&format!("{with_user}/a.tar.gz?token=word")).unwrap();
    let fault = fault_of(&pin(b""), &origin);
    assert!(matches!(fault, EnsureFault::Fetch(FetchFault::Status { status: 403, .. })), "{fault}");
    assert!(!fault.to_string().contains("word"), "{fault}");
}

#[test]
fn nobody_at_the_other_end_is_a_fault() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let fault = fault_of(&pin(b""), &Origin::parse(&url).unwrap());
    assert!(matches!(fault, EnsureFault::Fetch(FetchFault::Connection { .. })), "{fault}");
}

#[test]
fn origin_of_another_kind_is_refused() {
    assert!(matches!(Origin::parse("ftp://example.invalid/a"), Err(FetchFault::Origin(_))));
    assert!(matches!(Origin::parse("file:///etc/passwd"), Err(FetchFault::Origin(_))));
}

/// The fault of an archive which has the pinned digest.
fn fault_of_archive(members: &[Member<'_>]) -> PlaceFault {
    let archive = packed(members);
    let server = Server::of(archive.clone());
    match fault_of(&pin(&archive), &server.mirror()) {
        EnsureFault::Place(fault) => fault,
        other => panic!("{other}"),
    }
}

#[test]
fn archives_that_are_not_as_a_release_is_are_refused() {
    let program = program();
    let good = Member::File("gitleaks", &program);
    let cases: [(&str, Vec<Member<'_>>); 7] = [
        ("leads out", vec![Member::File("../../gitleaks", &program), good]),
        ("leads out", vec![Member::File("/etc/gitleaks", &program)]),
        ("no plain file", vec![Member::Link("gitleaks", "/bin/sh")]),
        ("no plain file", vec![Member::File("gitleaks", &program), Member::Link("other", "gitleaks")]),
        ("single plain file", vec![Member::File("gitleaks", &program), Member::File("gitleaks", b"x")]),
        ("not in it", vec![Member::File("other", &program), Member::File("bin/gitleaks", &program)]),
        ("is empty", vec![Member::File("gitleaks", b"")]),
    ];
    for (expected, members) in cases {
        let fault = fault_of_archive(&members);
        assert!(matches!(fault, PlaceFault::Archive(_)), "{fault}");
        assert!(fault.to_string().contains(expected), "{expected}: {fault}");
    }
}

#[test]
fn archive_that_unpacks_without_bound_is_refused() {
    let big = vec![0u8; 300 << 20];
    let fault = fault_of_archive(&[Member::File("padding", &big), Member::File("gitleaks", &program())]);
    assert!(fault.to_string().contains("unpacks to more than"), "{fault}");
    let many: Vec<String> = (0..100).map(|place| format!("file-{place}")).collect();
    let fault = fault_of_archive(&many.iter().map(|name| Member::File(name, b"x")).collect::<Vec<_>>());
    assert!(fault.to_string().contains("more than 64 members"), "{fault}");
}

#[test]
fn program_that_does_not_run_is_not_recorded() {
    for text in ["#!/bin/sh\necho 9.9.9\n", "#!/bin/sh\nexit 1\n", "#!/nonexistent/interpreter\n"] {
        let fault = fault_of_archive(&[Member::File("gitleaks", text.as_bytes())]);
        assert!(matches!(fault, PlaceFault::DoesNotRun { .. }), "{fault}");
    }
}

#[test]
fn program_that_was_changed_is_noticed_and_replaced() {
    let sandbox = Sandbox::new();
    let archive = good_archive();
    let server = Server::of(archive.clone());
    let Outcome::Put(first) = put(&sandbox, &pin(&archive), &server.mirror()).unwrap() else { panic!() };
    fs::write(&first.path, "#!/bin/sh\necho 1.2.3; exit 0\n").unwrap();
    let fault = placed(&sandbox.path("state")).unwrap_err();
    assert!(matches!(fault, PlaceFault::Changed { .. }), "{fault}");
    assert_eq!(put(&sandbox, &pin(&archive), &server.mirror()).unwrap(), Outcome::Put(first.clone()));
    assert_eq!(placed(&sandbox.path("state")).unwrap(), Some(first));
}

#[test]
fn record_that_cannot_be_read_or_leads_elsewhere_is_a_fault() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("state/bin")).unwrap();
    let leading_elsewhere =
        r#"{"version":"1","program":"../../x","program_sha256":"","archive":"","archive_sha256":""}"#;
    for record in ["", "{", "[]", r#"{"version":"1"}"#, leading_elsewhere] {
        fs::write(sandbox.path("state/bin/gitleaks.json"), record).unwrap();
        assert!(matches!(placed(&sandbox.path("state")), Err(PlaceFault::Record(_))), "{record}");
    }
}

#[test]
fn runs_at_the_same_time_fetch_once_and_all_find_it() {
    let sandbox = Sandbox::new();
    let archive = good_archive();
    let bytes = archive.clone();
    let server = Server::new(move |_, _, connection| {
        thread::sleep(Duration::from_millis(200));
        respond(connection, &bytes, bytes.len());
    });
    let outcomes: Vec<Outcome> = thread::scope(|scope| {
        let runs: Vec<_> =
            (0..6).map(|_| scope.spawn(|| put(&sandbox, &pin(&archive), &server.mirror()).unwrap())).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Put(_))).count(), 1);
    assert_eq!(server.asked.load(Ordering::SeqCst), 1);
}

#[test]
fn every_system_that_the_project_builds_for_has_a_pin() {
    for system in ["linux", "macos", "windows"] {
        for architecture in ["x86_64", "aarch64"] {
            let pin = Pin::of(system, architecture).unwrap();
            assert_eq!(hex::decode(&pin.sha256).unwrap().len(), 32);
            assert!(pin.url().starts_with("https://"));
            assert_eq!(pin.established, system == "linux");
        }
    }
    assert_eq!(Pin::of("plan9", "x86_64"), None);
}

#[test]
fn proxies_of_the_environment_are_honoured() {
    let archive_bytes = good_archive();
    let bytes = archive_bytes.clone();
    // A proxy that opens every tunnel to itself: it answers the request inside as the mirror would.
    let proxy = Server::new(move |target, _, connection| {
        assert_eq!(target, "mirror.invalid:80");
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        let mut request = BufReader::new(connection.try_clone().unwrap());
        let mut line = String::new();
        while request.read_line(&mut line).unwrap_or(0) > 2 {
            line.clear();
        }
        respond(connection, &bytes, bytes.len());
    });
    let through = |variable: &str, excepted: &str| {
        let env = Environment::from([(variable.into(), (&proxy.url).into()), ("no_proxy".into(), excepted.into())]);
        let origin = Origin::parse("http://mirror.invalid/").unwrap();
        archive(&pin(&archive_bytes), &origin, limits(), &env, &mut |_, _| {})
    };
    assert_eq!(through("http_proxy", "other.invalid").unwrap(), archive_bytes);
    assert_eq!(through("ALL_PROXY", "").unwrap(), archive_bytes);
    // Without the proxy the name leads nowhere.
    assert!(matches!(through("http_proxy", "x, mirror.invalid"), Err(FetchFault::Connection { .. })));
    assert!(matches!(through("https_proxy", ""), Err(FetchFault::Connection { .. })));
    assert_eq!(proxy.asked.load(Ordering::SeqCst), 2);
    let env = Environment::from([("https_proxy".into(), "nonsense://person:word@host".into())]);
    let fault = archive(&pin(b""), &Origin::Release, limits(), &env, &mut |_, _| {}).unwrap_err();
    assert!(matches!(fault, FetchFault::Proxy { .. }), "{fault}");
    assert!(!fault.to_string().contains("word"), "{fault}");
}

#[test]
fn command_line_says_what_is_in_place_and_refuses_what_is_not_pinned() {
    let sandbox = Sandbox::new();
    let run = |arguments: &[&str]| sandbox.tyran().arg("ensure-gitleaks").args(arguments).output().unwrap();
    let code_and_words =
        |output: &std::process::Output| (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned());
    let (code, words) = code_and_words(&run(&["--check"]));
    assert_eq!(code, Some(3), "{words}");
    assert!(words.contains("do:    run `tyran ensure-gitleaks`"), "{words}");
    let other = sandbox.path("archive");
    fs::write(&other, good_archive()).unwrap();
    let (code, words) = code_and_words(&run(&["--from", other.to_str().unwrap()]));
    assert_eq!(code, Some(3), "{words}");
    assert!(words.contains("is pinned") && words.contains("--from FILE"), "{words}");
    assert_eq!(code_and_words(&run(&["--from", "ftp://example.invalid/"])).0, Some(2));
    assert_eq!(code_and_words(&run(&["--from", sandbox.path("none").to_str().unwrap()])).0, Some(3));
    assert_eq!(placed(&sandbox.path("state")).unwrap(), None);
}

#[test]
fn placed_program_is_the_one_that_is_run_until_it_is_changed() {
    let Some(real) = real_gitleaks() else { return };
    let sandbox = Sandbox::new();
    let archive = packed(&[Member::File("gitleaks", &fs::read(real).unwrap())]);
    let pin = Pin { version: tyran::install::pins::VERSION.to_owned(), ..pin(&archive) };
    fs::write(sandbox.path("archive"), &archive).unwrap();
    let origin = Origin::File(sandbox.path("archive"));
    let Outcome::Put(program) = put(&sandbox, &pin, &origin).unwrap() else { panic!("it was there") };
    fs::write(sandbox.path("text"), "nothing to be found\n").unwrap();
    let scan =
        || sandbox.tyran().env("PATH", "/usr/bin:/bin").args(["scan-files", "--engine", "gitleaks", "text"]).output();
    let output = scan().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("with gitleaks 8.30.1"), "{}", shown(&output));
    let check = sandbox.tyran().args(["ensure-gitleaks", "--check"]).output().unwrap();
    assert_eq!(check.status.code(), Some(0), "{}", shown(&check));
    fs::write(&program.path, "#!/bin/sh\nexit 0\n").unwrap();
    let output = scan().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("engine-absent"), "{}", shown(&output));
}

#[test]
fn plain_http_is_only_for_a_mirror_that_was_named_so() {
    // A mirror named with https must not lead to http either; here it cannot even be reached, and the
    // refusal must not come from having spoken http.
    let server = Server::of(good_archive());
    let https = server.url.replace("http://", "https://");
    let fault = fault_of(&pin(b""), &Origin::parse(&format!("{https}/a")).unwrap());
    assert!(matches!(fault, EnsureFault::Fetch(_)), "{fault}");
    assert_eq!(server.asked.load(Ordering::SeqCst), 0);
}
