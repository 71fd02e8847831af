//! What ThreadSanitizer says about the programs: nothing about those that are free of races, among them bad ones. They are
//! why there is more to look for than races.

use std::process::Command;

use super::{Build, Program, compile, run, sources, workplace};

#[test]
fn thread_sanitizer_is_silent_on_race_free_programs() {
    let directory = workplace();
    // Some kernels put mappings where ThreadSanitizer cannot have them, unless told not to.
    let fixed_addresses = Command::new("setarch").args(["-R", "true"]).status().is_ok_and(|s| s.success());
    let (mut silent_and_bad, mut racy) = (0, 0);
    for path in sources("c").into_iter().chain(sources("cpp")) {
        let program = Program::read(&path);
        let compiler = if program.is_cpp() { "g++" } else { "gcc" };
        let flags = ["-g", "-O1", "-fsanitize=thread"];
        let compiler = [compiler].into_iter().chain(flags).map(str::to_owned).collect();
        let binary =
            compile(&program, &Build { name: "races", compiler, environment: vec![] }, directory.path());
        let mut command = if fixed_addresses { Command::new("setarch") } else { Command::new(&binary) };
        if fixed_addresses {
            command.arg("-R").arg(&binary);
        }
        let output = run(command.env("TSAN_OPTIONS", "exitcode=66"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        if program.race_free {
            assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{}", path.display());
            silent_and_bad += usize::from(!program.blamed.is_empty());
        } else {
            assert_eq!(output.status.code(), Some(66), "{}: {stderr}", path.display());
            assert!(stderr.contains("ThreadSanitizer: data race"), "{}: {stderr}", path.display());
            racy += 1;
        }
    }
    let all = std::env::var_os("ATOMVET_TEST_ONLY").is_none();
    assert!(
        !all || silent_and_bad >= 15 && racy > 0,
        "{silent_and_bad} silent although bad, {racy} with races"
    );
}
