//! Faults that tests plant, to see that every ending is a decision.
//!
//! Promise: a release build has none of this; a build with debug assertions does what `TYRAN_PLANT`
//! says at the point it names, as `POINT=ACTION`.

/// Does what is planted at `point`, if anything.
pub fn at(point: &str) {
    if !cfg!(debug_assertions) {
        return;
    }
    let Some(planted) = std::env::var_os("TYRAN_PLANT") else { return };
    let planted = planted.to_string_lossy();
    let Some(action) = planted.strip_prefix(point).and_then(|rest| rest.strip_prefix('=')) else { return };
    match action {
        "panic" => panic!("planted at {point}"),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "sleep" => std::thread::sleep(std::time::Duration::from_secs(3600)),
        "exit" => std::process::exit(0),
        "abort" => std::process::abort(),
        "nonsense" => {
            println!("nonsense");
            std::process::exit(0);
        }
        "unknown-verdict" => {
            println!("{{\"decision\":\"perhaps\",\"class\":\"\",\"text\":\"\"}}");
            std::process::exit(0);
        }
        "unknown-class" => {
            println!("{{\"decision\":\"refuse\",\"class\":\"no such class\",\"text\":\"\"}}");
            std::process::exit(0);
        }
        "pass-with-a-class" => {
            println!("{{\"decision\":\"pass\",\"class\":\"finding\",\"text\":\"\"}}");
            std::process::exit(0);
        }
        "overflow" => {
            overflow(1);
        }
        "memory" => {
            let mut taken: Vec<Vec<u8>> = Vec::new();
            loop {
                taken.push(vec![1; 64 << 20]);
            }
        }
        other => panic!("{other:?} cannot be planted"),
    }
}

/// Deeper than any stack.
fn overflow(depth: u64) -> u64 {
    let kept = [depth; 64];
    if depth == u64::MAX { 0 } else { overflow(depth + 1) + kept.iter().sum::<u64>() }
}
