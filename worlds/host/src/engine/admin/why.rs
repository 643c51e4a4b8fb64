//! Why an image waits: begins a watch, and puts what it has seen in a sentence and tables.

use super::Ticket;
use crate::admin::api::{AdminAnswer, AdminRefusal, ImageWaits, OpSpan, TracedOps, WatchSeconds};
use crate::engine::Engine;
use crate::engine::host_node::{Alarm, HostNode};
use crate::engine::op_trace::OpTrace;
use crate::engine::watches::{ImageSeen, ImageWatch};
use loadline_base::Span;
use loadline_cluster::images::ImageId;

impl Engine {
    /// Begins to watch an image for somebody.
    pub(super) fn watch(
        &mut self,
        ticket: Ticket,
        image: &str,
        seconds: WatchSeconds,
        traced: TracedOps,
    ) -> Result<(), AdminRefusal> {
        let image = self.host.node.cluster().images().image(image)?;
        let (image, name) = (image.id, image.name.clone());
        let since = self.host.now;
        let until = since + Span::from_secs(u64::from(seconds.get()));
        self.host.alarms.push(until, Alarm::Watch);
        let seen = ImageSeen::default();
        let trace = OpTrace::begin(image, 0..u64::from(traced.get()));
        self.watches.begin(ImageWatch { ticket, image, name, since, until, seen, trace });
        Ok(())
    }

    /// Answers those whose time is over; on a node that stops, all.
    pub(in crate::engine) fn end_watches(&mut self) {
        let (now, stops) = (self.host.now, self.is_stopping());
        let over = self.watches.take_over(|watch| stops || watch.until <= now);
        for watch in over {
            let ticket = watch.ticket;
            let answer = self.host.told(watch);
            self.admin_told(ticket, AdminAnswer::Waits(answer));
        }
    }
}

impl HostNode {
    /// What a watch has seen, with the ops that are still in flight.
    fn told(&self, watch: ImageWatch) -> ImageWaits {
        let ImageWatch { image, name, since, mut seen, trace, .. } = watch;
        let mut waited = seen.time();
        let open = self.node.cluster().open_ops();
        let of_image = open.into_iter().filter(|issued| ImageId::of(issued.op.object).0 == image);
        let mut open = 0;
        for issued in of_image {
            open += 1;
            let span = self.now.since(issued.issued);
            waited += span;
            let wait = self.node.wait_of_op(self.now, issued);
            seen.waited(wait.stage(), wait.osd(), wait.summary(), span);
        }
        let mut answer = ImageWaits {
            image: name,
            watched_ns: self.now.since(since).nanos(),
            ops: seen.ops(),
            open,
            took: seen.took(),
            sentence: String::new(),
            stages: seen.stage_shares(),
            reasons: seen.shares(waited),
            traced: trace.spans().iter().map(OpSpan::from).collect(),
        };
        answer.sentence = sentence(&answer);
        answer
    }
}

/// The answer in a sentence.
fn sentence(waits: &ImageWaits) -> String {
    let ImageWaits { image, ops, open, took, .. } = waits;
    let watched = Span::from_nanos(waits.watched_ns).as_secs_f64();
    let Some(first) = waits.reasons.first() else {
        return format!("Nobody asked anything of {image} in {watched:.0} s.");
    };
    let span = Span::from_nanos;
    let osd = first.osd.map_or_else(String::new, |osd| format!(" of osd.{osd}"));
    let place = match first.stage.as_str() {
        "before" => "before any queue".to_owned(),
        "replicas" => format!("for the copies{osd}"),
        "loop" => "for the loop".to_owned(),
        stage => format!("in the {stage}{osd}"),
    };
    let waiting = match open {
        0 => String::new(),
        1 => ", and 1 is in flight".to_owned(),
        open => format!(", and {open} are in flight"),
    };
    format!(
        "{ops} ops of {image} ended in {watched:.0} s{waiting}, half of them within {:.1} and 99 of 100 within {:.1}. \
         What took most of their time, {:.0} %, was a wait {place}: {}, the longest of {} ops, {:.1} each and {:.1} at most.",
        span(took.p50_ns),
        span(took.p99_ns),
        first.share * 100.0,
        first.reason,
        first.ops,
        span(first.mean_ns),
        span(first.max_ns),
    )
}
