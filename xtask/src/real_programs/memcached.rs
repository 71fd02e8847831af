//! memcached and clients that talk to it over the loopback interface: four at once, each with keys of its own, and one
//! counter for all. What each is answered is the same whoever comes first.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::{Build, Work, copy, quiet, succeed};

const CLIENTS: usize = 4;
const ROUNDS: usize = 300;

pub(super) fn run(work: &Work) -> anyhow::Result<()> {
    let source = work.debian.source("memcached")?;
    work.debian.unpack("libevent-dev libevent-2.1-7 libevent-core-2.1-7")?;
    let mut transcripts = Vec::new();
    let mut seconds = [0.0; 2];
    for (build, seconds) in Build::BOTH.into_iter().zip(&mut seconds) {
        let here = work.folder("memcached", build);
        copy(&source, &here)?;
        let root = work.debian.root().join("usr");
        let mut configure = work.builder("./configure", build);
        configure.arg(format!("--with-libevent={}", root.display()));
        succeed(quiet(configure.current_dir(&here)))?;
        succeed(quiet(work.builder("make", build).args(["-j2", "memcached"]).current_dir(&here)))?;
        let port = 21_200 + u16::from(build == Build::Watched);
        let mut command = work.runner("memcached", &here.join("memcached"), build);
        command.args(["-A", "-u", "root", "-U", "0", "-l", "127.0.0.1", "-t", "4", "-p", &port.to_string()]);
        let mut server = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().context("memcached")?;
        let started = Instant::now();
        let talk = talk(port);
        if talk.is_err() {
            // It would wait for ever for somebody to tell it to stop.
            let _ = server.kill();
        }
        let status = server.wait()?;
        transcripts.push(talk?);
        *seconds = started.elapsed().as_secs_f64();
        ensure!(matches!(status.code(), Some(0 | 1)), "{command:?}: {status}");
    }
    ensure!(transcripts[0] == transcripts[1], "clients get other answers than from the plain server");
    work.tell("memcached", seconds[0], seconds[1])
}

/// All that clients are answered where it cannot depend on the others, and the last value of the counter.
fn talk(port: u16) -> anyhow::Result<Vec<String>> {
    let mut first = Client::connect(port)?;
    first.ask("set counter 0 0 1\r\n0")?;
    let clients = (0..CLIENTS).map(|number| std::thread::spawn(move || one_client(port, number)));
    let clients: Vec<_> = clients.collect();
    let mut answers = Vec::new();
    for client in clients {
        answers.extend(client.join().map_err(|_| anyhow::anyhow!("a client failed"))??);
    }
    answers.push(first.ask("get counter")?);
    ensure!(
        answers.last().is_some_and(|last| last.contains(&(CLIENTS * ROUNDS).to_string())),
        "increments are lost"
    );
    first.stream.write_all(b"shutdown graceful\r\n")?;
    Ok(answers)
}

fn one_client(port: u16, number: usize) -> anyhow::Result<Vec<String>> {
    let mut client = Client::connect(port)?;
    let mut answers = Vec::new();
    for round in 0..ROUNDS {
        let key = format!("key_{number}_{}", round % 50);
        let value = round.to_string();
        answers.push(client.ask(&format!("set {key} 0 0 {}\r\n{value}", value.len()))?);
        answers.push(client.ask(&format!("get {key}"))?);
        client.ask("incr counter 1")?;
        if round % 7 == 0 {
            answers.push(client.ask(&format!("delete {key}"))?);
        }
        answers.push(client.ask(&format!("append key_{number}_1 0 0 1\r\nx"))?);
        // What another client has there depends on how far it is.
        client.ask(&format!("get key_{}_{}", (number + 1) % CLIENTS, round % 50))?;
    }
    Ok(answers)
}

struct Client {
    stream: TcpStream,
    answers: BufReader<TcpStream>,
}

impl Client {
    fn connect(port: u16) -> anyhow::Result<Client> {
        let started = Instant::now();
        let stream = loop {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(stream) => break stream,
                Err(_) if started.elapsed() < Duration::from_secs(20) => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(error).context("the server does not answer"),
            }
        };
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let answers = BufReader::new(stream.try_clone()?);
        Ok(Client { stream, answers })
    }

    /// One request; its answer, which is one line, or several up to `END`.
    fn ask(&mut self, request: &str) -> anyhow::Result<String> {
        self.stream.write_all(format!("{request}\r\n").as_bytes())?;
        let mut answer = String::new();
        loop {
            let from = answer.len();
            ensure!(self.answers.read_line(&mut answer)? > 0, "the server has hung up");
            if from == 0 && !answer.starts_with("VALUE") || answer[from..].starts_with("END") {
                return Ok(answer);
            }
        }
    }
}
