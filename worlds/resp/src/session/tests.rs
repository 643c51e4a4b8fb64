//! Sessions over a pair of ends in memory, in one thread with what they share.

use super::*;
use crate::budget::Budget;
use crate::users::Users;
use loadline_kv::{Db, DbOptions, LogMode};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// `WATCH` asked the database for each of its keys, and `SAVE` for a sync, and neither waited for a turn.
#[tokio::test(start_paused = true)]
async fn watches_and_syncs_have_turns() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let users = Users::parse("[user.default]\nlimit = 1000").expect("it is one");
    let service = Service::new(db, users, LogMode::LogOnly, Budget::new(64 << 20, 1 << 15, 1));
    let (mut client, stream) = duplex(1 << 16);
    let session = RespSession::new(service.expect("its terms can be kept"), 1, stream, None);
    let talk = async move {
        // The limit lets four of the dearest commands go at once, up to the next power of two.
        let watch = format!("WATCH {}\r\n", "k ".repeat(50));
        for (asked, answers, least) in [(&watch[..], 20, 20 * 50 - 4 * 64), ("SAVE\r\n", 100, 92)] {
            let began = Instant::now();
            let asked = asked.repeat(answers);
            client.write_all(asked.as_bytes()).await.expect("it is taken");
            let mut told = vec![0; answers * 5];
            client.read_exact(&mut told).await.expect("it is answered");
            assert_eq!(told, b"+OK\r\n".repeat(answers));
            let took = began.elapsed().as_millis();
            assert!(took >= least - 50, "{took} ms for what the limit gives in {least}");
        }
    };
    let tasks = tokio::task::LocalSet::new();
    let (_, ended) = tasks.run_until(async { tokio::join!(talk, session.run(None)) }).await;
    ended.expect("it ends where its client does");
}

/// Connections of a user past its limit had, each while it waited for its turn, what all users share: room for what it was to read, and one of the few places
/// at which values of unknown length are read. A `GET` of another user waited behind as many of them as there are such places, for 83 s.
#[tokio::test]
async fn who_waits_for_a_turn_keeps_nothing_that_others_need() {
    const MIB: u64 = 1 << 20;
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let users = Users::parse("[user.default]\n[user.slow]\nlimit = 0.01").expect("they are some");
    let budget = Budget::new(8 * MIB, MIB as usize, 2);
    let service = Service::new(db, users, LogMode::LogOnly, Rc::clone(&budget));
    let service = service.expect("its terms can be kept");
    let mget = format!("MGET{}\r\n", " k".repeat(60));
    let connect = |number: u64| {
        let (client, stream) = duplex(1 << 16);
        let session = RespSession::new(Rc::clone(&service), number, stream, None);
        tokio::task::spawn_local(session.run(None));
        client
    };
    let all = async {
        let slow = async |numbers: std::ops::Range<u64>| {
            let mut clients = Vec::new();
            for number in numbers {
                let mut client = connect(number);
                let asked = format!("AUTH slow none\r\n{mget}");
                client.write_all(asked.as_bytes()).await.expect("it is taken");
                clients.push(client);
            }
            // All come to where they wait; where they do not, nothing is found.
            tokio::time::sleep(Duration::from_millis(300)).await;
            clients
        };
        let _with_room = slow(1..13).await;
        assert!(budget.held() < MIB / 2, "{} bytes are kept from others", budget.held());
        let others = budget.connection();
        let _rest = others.note(7 * MIB);
        let _without_room = slow(13..25).await;
        let mut client = connect(25);
        client.write_all(mget.as_bytes()).await.expect("it is taken");
        let mut told = vec![0; 5 + 60 * 5];
        let answered = client.read_exact(&mut told);
        let answered = tokio::time::timeout(Duration::from_secs(20), answered).await;
        answered.expect("it waits for no user past its limit").expect("it is answered");
        assert_eq!(told, [&b"*60\r\n"[..], &b"$-1\r\n".repeat(60)].concat());
    };
    tokio::task::LocalSet::new().run_until(all).await;
}
