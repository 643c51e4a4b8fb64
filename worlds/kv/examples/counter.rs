//! Counts in transactions from four threads, keeps a backup, and says what it cost: `counter FOLDER`.

use loadline_kv::{Db, DbError, DbOptions};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: counter FOLDER");
        return ExitCode::from(2);
    };
    match run(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &str) -> Result<(), Box<dyn std::error::Error>> {
    let db = Db::open(folder, DbOptions::small())?;
    let counts = db.keyspace("counts")?;
    let count = |name: &[u8]| {
        db.transact(|tx| {
            let value = tx.get(&counts, name)?;
            let value = value.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
            tx.put(&counts, name, &(value + 1).to_be_bytes());
            Ok(value + 1)
        })
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4u8)
            .map(|thread| {
                let count = &count;
                scope.spawn(move || -> Result<(), DbError> {
                    for _ in 0..100 {
                        count(b"all")?;
                        count(&[thread])?;
                    }
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    let keys = db.backup_to(std::path::Path::new(folder).join("backup"))?;
    let statistics = db.statistics()?;
    println!(
        "{} commits, {} conflicts, {} flushes of the log; the backup has {keys} keys",
        statistics.commits, statistics.conflicts, statistics.log_flushes
    );
    Ok(())
}
