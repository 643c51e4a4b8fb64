//! Metrics as monitoring systems take them: by promtool, and by a real Prometheus that reads a node, with the board and the alerts of
//! `contrib`. Without Debian's package prometheus these say so in a line and pass.

#![expect(clippy::disallowed_methods, reason = "Prometheus is another process, and takes its time")]

use super::clients::Client;
use super::http::{ask, get, node_with_page};
use serde_json::Value;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

fn has(program: &str) -> bool {
    let found =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has = found.is_ok_and(|status| status.success());
    if !has {
        println!("skipped: there is no {program} (apt install prometheus)");
    }
    has
}

fn contrib(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../contrib").join(name)
}

#[test]
fn metrics_come_in_both_texts_and_as_json() {
    let (node, at) = node_with_page(&["--osds", "2", "--image", "vol0=16MiB"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    client.write(0, &[7; 8192]);
    client.read(0, 4096);
    let text = node.says(&["metrics"]);
    let has = |line: &str| assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
    has("# TYPE loadline_op_seconds histogram");
    has("loadline_op_seconds_count{class=\"client\",image=\"vol0\",op=\"write\"} 1");
    has("loadline_op_bytes_total{image=\"vol0\",op=\"write\"} 8192");
    has("loadline_op_bytes_total{image=\"vol0\",op=\"read\"} 4096");
    has("loadline_osd_up{osd=\"1\"} 1");
    let (_, open) =
        ask(at, "GET /metrics", "Accept: application/openmetrics-text; version=1.0.0\r\n", "");
    assert!(open.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{open}");
    assert!(
        open.contains("# TYPE loadline_op_bytes counter\n") && open.ends_with("# EOF\n"),
        "{open}"
    );
    assert!(get(at, "/metrics").contains("# TYPE loadline_op_bytes_total counter\n"));
    let families = node.json(&["metrics"])["families"].take();
    assert!(families.as_array().unwrap().iter().any(|it| it["name"] == "loadline_op_seconds"));
    if has_promtool() {
        let mut check = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let ended = check.wait_with_output().unwrap();
        assert!(
            ended.status.success() && ended.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
    }
}

fn has_promtool() -> bool {
    has("promtool")
}

/// Every family that a node tells is in the document, and the document names none that there is not.
#[test]
fn the_document_names_every_family() {
    let (node, _) = node_with_page(&["--osds", "1"]);
    let families = node.json(&["metrics"])["families"].take();
    let page = include_str!("../../../../docs/metrics.md");
    let named = |name: &str| page.contains(&format!("| `{name}` |"));
    let mut count = 0;
    for family in families.as_array().unwrap() {
        let name = family["name"].as_str().unwrap();
        assert!(named(name), "docs/metrics.md has no row of {name}");
        count += 1;
    }
    assert_eq!(page.matches("\n| `loadline_").count(), count, "rows of what there is not");
}

/// A Prometheus that ends with this.
struct Prometheus {
    process: Child,
    at: std::net::SocketAddr,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Prometheus {
    /// One with the configuration of `contrib` that reads a node twice a second.
    fn reading(node: std::net::SocketAddr, folder: &Path) -> Prometheus {
        let at = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).unwrap();
        let config = std::fs::read_to_string(contrib("prometheus/prometheus.yml")).unwrap();
        let config = config.replace("127.0.0.1:7480", &node.to_string()).replace(": 5s", ": 500ms");
        std::fs::write(folder.join("prometheus.yml"), config).unwrap();
        std::fs::copy(contrib("prometheus/loadline.rules.yml"), folder.join("loadline.rules.yml"))
            .unwrap();
        let process = Command::new("prometheus")
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=error"])
            .arg(format!("--web.listen-address={at}"))
            .current_dir(folder)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Prometheus { process, at }
    }

    /// What a query finds; `None` while it is not answered.
    fn query(&self, query: &str) -> Option<Vec<Value>> {
        let coded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        std::net::TcpStream::connect(self.at).ok()?;
        let (code, answer) = ask(self.at, &format!("GET /api/v1/query?query={coded}"), "", "");
        let body = answer.split_once("\r\n\r\n")?.1.to_owned();
        assert!(code == 200 || code == 503, "{query}: {body}");
        let body: Value =
            serde_json::from_str(body.get(body.find('{')?..=body.rfind('}')?)?).ok()?;
        Some(body["data"]["result"].as_array()?.clone())
    }

    fn await_data(&self, query: &str) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            match self.query(query) {
                Some(found) if !found.is_empty() => return found,
                found => assert!(begun.elapsed() < PATIENCE, "{query} finds {found:?}"),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Each panel of the board shows data, each alert is understood, and one that should ring does.
#[test]
fn a_real_prometheus_reads_a_node_and_fills_the_board() {
    if !has("prometheus") || !has_promtool() {
        return;
    }
    let rules = Command::new("promtool")
        .args(["check", "rules"])
        .arg(contrib("prometheus/loadline.rules.yml"))
        .output()
        .unwrap();
    assert!(rules.status.success(), "{}", String::from_utf8_lossy(&rules.stderr));
    let (node, at) = node_with_page(&["--osds", "2", "--image", "vol0=16MiB"]);
    let folder = tempfile::tempdir().unwrap();
    let prometheus = Prometheus::reading(at, folder.path());
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    let begun = Instant::now();
    while prometheus.query("loadline_op_seconds_count > 30").is_none_or(|found| found.is_empty()) {
        (0..20).for_each(|_| client.write(0, &[7; 4096]));
        client.read(0, 4096);
        assert!(begun.elapsed() < PATIENCE, "nothing was read: {:?}", prometheus.query("up"));
        std::thread::sleep(Duration::from_millis(50));
    }
    let up = prometheus.await_data("up{job=\"loadline\"}");
    assert_eq!(up[0]["value"][1], "1", "{up:?}");
    let board: Value =
        serde_json::from_str(&std::fs::read_to_string(contrib("grafana/loadline.json")).unwrap())
            .unwrap();
    let mut queries = 0;
    for panel in board["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            let query =
                query.replace("$instance", &at.to_string()).replace("$__rate_interval", "1m");
            prometheus.await_data(&query);
            queries += 1;
        }
    }
    assert!(queries >= 20, "{queries}");
    node.says(&["osd", "down", "1", "--force"]);
    let alert = prometheus.await_data("ALERTS{alertname=\"LoadlineOsdDown\"}");
    assert_eq!(alert[0]["metric"]["osd"], "1", "{alert:?}");
}
