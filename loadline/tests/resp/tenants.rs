//! Users are tenants, each with a password, a reservation and a limit.

use crate::server::{Server, pause, talk, write_users};
use redis::cmd;
use std::io::{Read, Write};
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
    write_users(&folder.path().join("users.toml"), USERS);
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

/// Every user could say when everybody's commits are answered: one tenant's `CONFIG SET appendfsync no` made all others' data go with the process.
#[test]
fn how_durable_everybody_s_data_is_only_an_administrator_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let users = format!("{USERS}\n[user.root]\npassword = \"keys\"\nadministrator = true\n");
    write_users(&folder.path().join("users.toml"), &users);
    let arguments = "--size 64MiB --users users.toml --appendfsync always";
    let server = Server::start(folder.path(), arguments);
    let said = |user: &str, asked: &str| {
        let mut raw = server.raw();
        assert_eq!(talk(&mut raw, format!("AUTH {user}\r\n").as_bytes(), "\r\n"), "+OK\r\n");
        talk(&mut raw, format!("{asked}\r\nECHO end\r\n").as_bytes(), "$3\r\nend\r\n")
    };
    for asked in ["CONFIG SET appendfsync no", "CONFIG RESETSTAT"] {
        let refused = said("ada lace", asked);
        assert!(
            refused.starts_with("-NOPERM CONFIG ") && refused.contains("administrator"),
            "{refused}"
        );
    }
    assert!(said("ada lace", "CONFIG GET appendfsync").contains("always"));
    assert!(said("root keys", "CONFIG SET appendfsync everysec").starts_with("+OK\r\n"));
    assert!(said("ada lace", "CONFIG GET appendfsync").contains("everysec"));
    assert!(said("root keys", "CONFIG RESETSTAT").starts_with("+OK\r\n"));
    server.end();
}

/// A walk over all keys had one turn from its beginning to its end: connections of a user without a promise took all turns there are, and who had one waited for the end
/// of a walk with every command.
#[test]
fn a_reservation_is_kept_beside_walks_over_all_keys() {
    const WALKERS: usize = 300;
    let folder = tempfile::tempdir().expect("a folder");
    write_users(&folder.path().join("users.toml"), &USERS.replace("limit = 200\n", ""));
    let server = Server::start(folder.path(), "--size 64MiB --users users.toml --appendfsync no");
    let client = &mut server.client();
    cmd("AUTH").arg("ada").arg("lace").query::<()>(client).expect("it is right");
    for some in 0..20 {
        let mut set = cmd("MSET");
        for key in 0..2000 {
            set.arg(format!("{some}-{key}")).arg("v");
        }
        set.query::<()>(client).expect("they are set");
    }
    let mut walkers: Vec<_> = (0..WALKERS).map(|_| server.raw()).collect();
    for walker in &mut walkers {
        assert_eq!(talk(walker, b"AUTH batch slow\r\n", "\r\n"), "+OK\r\n");
    }
    for walker in &mut walkers {
        walker.write_all(b"DBSIZE\r\n").expect("it is taken");
    }
    // Whoever is served before all of them are, and as often as this, has not waited for their ends.
    pause(50);
    for number in 0..20 {
        let value: String =
            cmd("GET").arg(format!("1-{number}")).query(client).expect("it is there");
        assert_eq!(value, "v");
    }
    let is_over = |walker: &mut std::os::unix::net::UnixStream| {
        walker.set_nonblocking(true).expect("it can be set");
        walker.read(&mut [0; 64]).is_ok()
    };
    let over = walkers.iter_mut().map(is_over).filter(|over| *over).count();
    assert!(over < 20, "{over} walks have ended before twenty commands of who has a reservation");
}
