//! What a benchmark asked and what came out, for a terminal and for a program.

use loadline_cdl::plot::{BenchAnswer, QUESTION};
use serde_json::{Value, json};

pub(super) fn text(answer: &BenchAnswer) -> String {
    let sentences = answer.sentences.iter().map(|sentence| format!("{sentence}\n"));
    format!("{QUESTION}\n\n{}", sentences.collect::<String>())
}

/// The same for a program, before what else it is told.
pub(super) fn json(answer: &BenchAnswer, mut told: Value) -> Value {
    told["question"] = json!(QUESTION);
    told["recommended"] = json!(answer.recommended);
    told["answer"] = json!(answer.sentences);
    told
}
