//! The page in a real browser: headless Chromium, driven over its debugging pipe. Without Chromium this says so in a line and passes.

#![expect(clippy::disallowed_methods, reason = "a browser is another process, and takes its time")]

use super::clients::Client;
use super::http::{node_with_page, token};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page, which ends with this.
struct Browser {
    process: Child,
    to: File,
    from: File,
    received: Vec<u8>,
    calls: u64,
    session: Option<String>,
    /// Exceptions and messages of the console.
    complaints: Vec<Value>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// Its pipe has the descriptors 3 and 4, which a shell gives it.
    fn start(folder: &Path) -> Browser {
        let pipes = ["to", "from"].map(|name| folder.join(name));
        let made = Command::new("mkfifo").args(&pipes).status().unwrap();
        assert!(made.success());
        let order = "exec chromium --headless --no-sandbox --disable-gpu --remote-debugging-pipe \
                     --user-data-dir=profile about:blank 3<to 4>from";
        let process = Command::new("sh")
            .args(["-c", order])
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = File::options().write(true).open(&pipes[0]).unwrap();
        let from = File::open(&pipes[1]).unwrap();
        let (received, complaints) = (Vec::new(), Vec::new());
        let mut browser =
            Browser { process, to, from, received, calls: 0, session: None, complaints };
        let target =
            browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].take();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = browser.call("Target.attachToTarget", attach)["sessionId"].take();
        browser.session = session.as_str().map(str::to_owned);
        browser.call("Runtime.enable", json!({}));
        browser.call("Log.enable", json!({}));
        browser
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = self.receive();
            if answer["id"] == json!(self.calls) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            let method = answer["method"].as_str().unwrap_or_default();
            if ["Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"]
                .contains(&method)
            {
                self.complaints.push(answer);
            }
        }
    }

    fn receive(&mut self) -> Value {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == 0) {
                let message: Vec<u8> = self.received.drain(..=end).collect();
                return serde_json::from_slice(&message[..end]).unwrap();
            }
            let mut piece = vec![0; 1 << 16];
            let count = self.from.read(&mut piece).unwrap();
            assert!(count > 0, "the browser ended");
            self.received.extend_from_slice(&piece[..count]);
        }
    }

    fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true });
        self.call("Runtime.evaluate", asked)["result"]["value"].take()
    }

    fn await_true(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.value(expression) != json!(true) {
            let page = "document.body.innerText";
            assert!(begun.elapsed() < PATIENCE, "not so: {expression}\n{}", self.value(page));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn show(&mut self, width: u32, scheme: &str) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", scheme);
    }
}

#[test]
fn the_page_lives_in_a_browser() {
    let found = Command::new("chromium")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !found.is_ok_and(|status| status.success()) {
        println!("skipped: there is no chromium");
        return;
    }
    let (node, at) = node_with_page(&["--osds", "2", "--image", "vol0=16MiB"]);
    let folder = tempfile::tempdir().unwrap();
    let (socket, over) = (node.file("nbd.sock"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = Client::connect(&socket, "vol0");
            while !over.load(Ordering::Relaxed) {
                client.write(0, &[7; 4096]);
            }
        });
        let shown = std::panic::catch_unwind(|| {
            let mut browser = Browser::start(folder.path());
            let url = format!("http://{at}/#token={}", token(&node));
            browser.show(1280, "light");
            browser.call("Page.navigate", json!({ "url": url }));
            browser.await_true("document.querySelector('#image-table td')?.textContent === 'vol0'");
            browser.await_true(
                "Number(document.querySelectorAll('#image-table td')[4].textContent) > 0",
            );
            // An image without a promise had a line of it at 0, where the table says "nothing".
            let lines = |names: &str| {
                format!(
                    "charts.get(document.querySelector('#images canvas')).lines.map((line) => line.name).join() === '{names}'"
                )
            };
            browser.await_true(&lines("asked,given"));
            node.says(&["image", "qos", "vol0", "--reservation", "10iops"]);
            browser.await_true(&lines("promised,asked,given"));
            browser.await_true("document.querySelectorAll('#classes canvas').length === 3");
            browser.await_true("document.querySelectorAll('#osds tbody tr').length === 2");
            // Something is drawn: not every pixel is the paper's.
            browser.await_true("[...document.getElementById('latency').getContext('2d').getImageData(0, 0, 300, 150).data].some((part) => part > 0)");
            browser.await_true(
                "document.getElementById('token').value.length === 32 && location.hash === ''",
            );
            for (width, scheme) in [(1280, "light"), (390, "light"), (390, "dark")] {
                browser.show(width, scheme);
                browser.await_true("document.documentElement.scrollWidth <= window.innerWidth");
            }
            browser.await_true(
                "getComputedStyle(document.body).backgroundColor === 'rgb(18, 22, 28)'",
            );
            browser.value("document.getElementById('profiles').value = 'high_client_ops'; document.getElementById('switch').click()");
            browser
                .await_true("document.getElementById('profile').textContent === 'high_client_ops'");
            browser.value("document.getElementById('pause').click()");
            browser.await_true("document.getElementById('pause').textContent === 'Resume scrubs'");
            // One of the flags goes meanwhile, and both hold elsewhere.
            for flag in ["noscrub", "nodeep-scrub"] {
                node.says(&["config", "set", "global", flag, "true"]);
            }
            node.says(&["config", "rm", "osd", "noscrub"]);
            browser.value("document.getElementById('pause').click()");
            browser.await_true(
                "document.getElementById('said').textContent.startsWith('a flag is set elsewhere')",
            );
            for flag in ["noscrub", "nodeep-scrub"] {
                node.says(&["config", "set", "global", flag, "false"]);
            }
            browser.value("document.getElementById('token').value = 'wrong'; document.getElementById('scrub').click()");
            browser.await_true("document.getElementById('said').textContent.startsWith(\"this takes the page's token\")");
            // A flag that has gone meanwhile cannot be taken away, and the browser writes that down, as it does that the token was wrong.
            let is_meant = |it: &str| {
                it.contains("403 (Forbidden)")
                    || it.contains("404 (Not Found)") && it.contains("/config/osd/noscrub")
            };
            let complaints = browser.complaints.iter().filter(|it| !is_meant(&it.to_string()));
            assert_eq!(complaints.count(), 0, "{:?}", browser.complaints);
        });
        over.store(true, Ordering::Relaxed);
        if let Err(why) = shown {
            std::panic::resume_unwind(why);
        }
    });
    let profile = node.json(&["config", "get", "osd.0", "osd_mclock_profile"]);
    assert_eq!(profile["value"], json!("high_client_ops"));
}
