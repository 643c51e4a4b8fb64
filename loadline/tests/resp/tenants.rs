//! Users are tenants, each with a password, a reservation and a limit.

use crate::server::Server;
use redis::cmd;
use std::fs;
use std::time::Instant;

const USERS: &str = r#"
[user.ada]
password = "lace"
reservation = 500

[user.batch]
password = "slow"
limit = 200
"#;

#[test]
#[expect(clippy::disallowed_methods, reason = "a limit is held against real time")]
fn users_need_their_password_and_keep_their_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("users.toml"), USERS).expect("it can be written");
    let server = Server::start(folder.path(), "--size 64MiB --users users.toml");
    let refused = cmd("GET").arg("a").query::<()>(&mut server.client()).expect_err("nobody yet");
    assert!(refused.to_string().contains("Authentication required"), "{refused}");
    let wrong = cmd("AUTH").arg("ada").arg("lacy").query::<()>(&mut server.client());
    assert!(wrong.expect_err("it is wrong").to_string().contains("invalid username-password"));
    let client = &mut server.client();
    cmd("AUTH").arg("batch").arg("slow").query::<()>(client).expect("it is right");
    let told: String = cmd("CLIENT").arg("INFO").query(client).expect("it is told");
    assert!(told.contains("user=batch"), "{told}");
    let began = Instant::now();
    for number in 0..100 {
        cmd("SET").arg("a").arg(number).query::<()>(client).expect("it has its turn");
    }
    // A hundred at 200 a second, but for what may be taken at once.
    assert!(began.elapsed().as_millis() >= 300, "{:?}", began.elapsed());
}
