//! What a benchmark asked and what came out, for a terminal.

use loadline_cdl::plot::{BenchAnswer, QUESTION};

pub(super) fn text(answer: &BenchAnswer) -> String {
    let sentences = answer.sentences.iter().map(|sentence| format!("{sentence}\n"));
    format!("{QUESTION}\n\n{}", sentences.collect::<String>())
}
