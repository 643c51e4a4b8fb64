//! Why each request in WPQ waits.

use super::Wpq;
use super::level::PriorityLevel;
use super::nodes::WaitingNode;
use crate::{FlowId, Scheduler, WaitCause, Waiting};
use alloc::vec::Vec;

/// Every waiting request: strict ones first, by descending priority, owner by owner.
pub(super) fn waiting<T>(queue: &Wpq<T>) -> Vec<Waiting> {
    let mut rows = Vec::with_capacity(queue.len());
    for (place, level) in queue.strict.levels().enumerate() {
        let turn = if place == 0 { WaitCause::Next } else { WaitCause::BehindStrict };
        explain_level(queue, level, turn, &mut rows);
    }
    let chances = chances(queue);
    for (level, chance) in queue.normal.levels().zip(&chances) {
        let turn = match (queue.strict.present(), chances.len()) {
            (0, 1) => WaitCause::Next,
            (0, _) => WaitCause::Lottery(*chance),
            _ => WaitCause::BehindStrict,
        };
        explain_level(queue, level, turn, &mut rows);
    }
    rows
}

/// The probability that the next take serves each normal priority, highest first.
///
/// Draws repeat until one is accepted, so it is proportional to priority times the share of accepting draws:
/// those from 0 to the slack among the `cost_max` possible ones.
fn chances<T>(queue: &Wpq<T>) -> Vec<f64> {
    let product = |level: &PriorityLevel| {
        let accepting = (level.slack(queue.cost_max) + 1).min(queue.cost_max.max(1));
        f64::from(level.priority) * accepting as f64
    };
    let products: Vec<f64> = queue.normal.levels().map(product).collect();
    let sum: f64 = products.iter().sum();
    products.into_iter().map(|product| product / sum).collect()
}

fn explain_level<T>(
    queue: &Wpq<T>,
    level: &PriorityLevel,
    turn: WaitCause,
    rows: &mut Vec<Waiting>,
) {
    let Some(next) = level.head(&queue.nodes).map(|head| head.flow) else { return };
    for (rank, chain) in level.owners() {
        // How many requests of each flow stand ahead, first flow first: an owner has few flows.
        let mut ahead: Vec<(FlowId, usize)> = Vec::new();
        for node in chain.iter(&queue.nodes) {
            let first = ahead.first().map(|(flow, _)| *flow);
            let own = match ahead.iter().position(|(flow, _)| *flow == node.flow) {
                Some(own) => own,
                None => {
                    ahead.push((node.flow, 0));
                    ahead.len() - 1
                }
            };
            let own_ahead = &mut ahead[own].1;
            let reason = match (*own_ahead, first) {
                (0, None) if rank == level.cursor() => turn,
                (0, None) => behind_turn(turn, next),
                (0, Some(other)) => behind_turn(turn, other),
                (own_ahead, _) => WaitCause::BehindOwnFlow(own_ahead),
            };
            rows.push(row(queue, node, level.priority, *own_ahead, reason));
            *own_ahead += 1;
        }
    }
}

/// Strict work that is ahead of the whole priority is the better reason than the owner whose turn it is.
fn behind_turn(turn: WaitCause, next: FlowId) -> WaitCause {
    if turn == WaitCause::BehindStrict { turn } else { WaitCause::BehindClient(next) }
}

fn row<T>(
    queue: &Wpq<T>,
    node: &WaitingNode<T>,
    priority: u32,
    place: usize,
    reason: WaitCause,
) -> Waiting {
    let WaitingNode { arrival, flow, class, cost, .. } = *node;
    let client = queue.flows.at(flow).client;
    Waiting { flow, class, client, place, arrival, cost, priority, tags: None, reason }
}
