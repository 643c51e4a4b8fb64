//! What takes time between the parts of a node.

use loadline_base::Span;
use loadline_osd::Message;

/// What takes time in a world. What takes none is due at once and never leaves the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// One way of a message between two OSDs, or between a client and one.
    pub link: Span,
    /// What each MiB of a recovered object takes on top: one stream's share of the wire.
    pub link_mib: Span,
    /// Processor time that a worker spends on an item.
    pub worker: Span,
    /// What its OSD's next item takes on top for each KiB of images and edits that came into the store's log meanwhile.
    pub logged_kib: Span,
    /// Whether the world shares processors among all that is done: what takes some of their time leaves the node, though it has none of
    /// its own here.
    pub shares_processors: bool,
}

impl Delays {
    /// How long a message is on its way.
    #[inline]
    pub fn of(&self, message: &Message) -> Span {
        match message {
            Message::Push(push) if self.link_mib > Span::ZERO => {
                self.link + self.link_mib * push.length().get() / (1 << 20)
            }
            _ => self.link,
        }
    }

    /// Whether a message has arrived when it is sent.
    #[inline]
    pub(crate) fn is_at_once(&self, message: &Message) -> bool {
        self.of(message) == Span::ZERO
            && !(self.shares_processors && matches!(message, Message::Push(_)))
    }

    /// Whether a worker has computed as soon as it begins.
    #[inline]
    pub(crate) fn computes_at_once(&self) -> bool {
        self.worker == Span::ZERO && !self.shares_processors
    }
}
