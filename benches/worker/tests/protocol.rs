//! The worker, by its protocol: every job, every engine, right results.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Worker {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    fn start() -> Self {
        let mut worker = Command::new(env!("CARGO_BIN_EXE_upsweep-worker"));
        let mut child =
            worker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it was built");
        let (requests, answers) = (child.stdin.take(), child.stdout.take());
        let answers = BufReader::new(answers.expect("piped"));
        Self { child, requests: requests.expect("piped"), answers }
    }

    fn ask(&mut self, request: &str) -> String {
        let mut answer = String::new();
        writeln!(self.requests, "{request}").expect("it listens");
        self.answers.read_line(&mut answer).expect("it answers");
        answer.trim_end().to_owned()
    }
}

#[test]
fn every_engine_gives_what_is_expected() {
    let mut worker = Worker::start();
    for job in [
        "sum whole u32 u32",
        "sum whole i64 i64",
        "sum whole f32 f32",
        "sum whole f64 f64",
        "sum whole u8 u64",
        "sum whole i16 i64",
        "sum whole f16 f32",
        "argmin unit u32 -",
        "argmin unit f32 -",
        "argmax unit u32 -",
        "argmax unit f32 -",
        "inclusive_scan whole u32 u32",
        "inclusive_scan whole i64 i64",
        "inclusive_scan whole f32 f32",
        "inclusive_scan whole f64 f64",
    ] {
        let engines = worker.ask(&format!("prepare {job} 70001"));
        let engines = engines.strip_prefix("engines ").expect("engines").to_owned();
        let expected = worker.ask("expect");
        assert!(expected.starts_with("digest "), "{job}: {expected}");
        let mut ours = 0;
        for engine in engines.split(' ') {
            let (name, _) = engine.split_once(':').expect("a name and threads");
            let found = worker.ask(&format!("check {name}"));
            if name.starts_with("upsweep") {
                assert_eq!(found, expected, "{job}: {name}");
                ours += 1;
            }
            let time = worker.ask(&format!("run {name} 2"));
            assert!(time.starts_with("seconds "), "{job}: {name}: {time}");
        }
        assert_eq!(ours, 2, "{job}: {engines}");
        assert_eq!(worker.ask("free"), "ok");
    }
    assert_eq!(worker.ask("prepare sum whole u32 f64 10"), "engines");
    let Worker { mut child, requests, .. } = worker;
    drop(requests);
    assert!(child.wait().expect("a status").success());
}
