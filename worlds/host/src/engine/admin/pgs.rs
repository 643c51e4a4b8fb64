//! Placement groups: objects of theirs that nobody can give, and an operator who gives them up.

use super::desk::CommandOutcome;
use super::desk::{DONE, Executed, now};
use crate::admin::api::{AdminAnswer, AdminRefusal, UnfoundObject, UnfoundObjects};
use crate::engine::host_node::HostNode;
use loadline_base::Bytes;
use loadline_cluster::NotLost;
use loadline_cluster::images::ImageId;
use loadline_osd::PgId;
use loadline_store::ObjectNo;

/// So many objects are named in a sentence; the rest is counted.
const NAMED_MAX: usize = 8;

/// Why a group's objects are not given up: who looks for them still is asked again, anything else is for the operator.
fn not_lost(pg: &str, why: NotLost) -> Executed {
    let says = format!("PG {pg}: {why}");
    match why {
        NotLost::LookedFor => Ok(CommandOutcome::Busy(says)),
        _ => Err(AdminRefusal::conflict(says)),
    }
}

impl HostNode {
    /// The placement group of this name, such as `0.1f`.
    pub(super) fn pg_of(&self, name: &str) -> Result<PgId, AdminRefusal> {
        let cluster = self.node.cluster();
        let found = cluster.map().pgs().map(|(pg, _)| pg).find(|pg| cluster.pg_name(*pg) == name);
        found.ok_or_else(|| {
            AdminRefusal::not_found(format!("there is no PG {name}"))
                .wants("a pool's number and, in hexadecimal, a PG's own, such as `0.1f`")
        })
    }

    pub(super) fn pg_list_unfound(&self, name: &str) -> Executed {
        let pg = self.pg_of(name)?;
        let may_be_given_up = self.node.cluster().may_give_up_unfound(pg);
        if let Err(why @ (NotLost::LookedFor | NotLost::NobodyServes)) = may_be_given_up {
            return not_lost(name, why);
        }
        let objects = self.node.cluster().unfound_objects(pg).iter();
        let objects = objects.map(|object| self.shown_object(*object)).collect();
        now(AdminAnswer::Unfound(UnfoundObjects { pg: name.to_owned(), objects }))
    }

    pub(super) fn shown_object(&self, object: ObjectNo) -> UnfoundObject {
        let (id, block) = ImageId::of(object);
        let image = self.node.cluster().images().get(id);
        UnfoundObject {
            object: object.0,
            image: image.map(|image| image.name.clone()),
            offset_bytes: image.map(|image| u64::from(block) * image.object_bytes),
        }
    }

    /// What it costs to give up the unfound objects of a placement group; nothing, if that cannot be done anyway.
    pub(super) fn cost_of_loss(&self, name: &str) -> Option<String> {
        let pg = self.pg_of(name).ok()?;
        self.node.cluster().may_give_up_unfound(pg).ok()?;
        let objects = self.unfound_in_words(&[pg]);
        Some(format!(
            "PG {name} would lose the last write of what nobody can give: {objects}; each becomes the newest that is left of it, or is forgotten where nothing is"
        ))
    }

    pub(super) fn pg_mark_unfound_lost(&mut self, name: &str) -> Executed {
        let pg = self.pg_of(name)?;
        let given_up = self.node.change(self.now, |cluster, fx| cluster.give_up_unfound(pg, fx));
        match given_up {
            Ok(()) => now(DONE),
            Err(why) => not_lost(name, why),
        }
    }

    /// What of a placement group nobody can give, for the log.
    pub(super) fn unfound_state(&self, name: &str) -> String {
        match self.pg_of(name) {
            Ok(pg) => self.unfound_in_words(&[pg]),
            Err(_) => "none".to_owned(),
        }
    }

    /// The objects that nobody can give, of all placement groups.
    pub(super) fn all_unfound_in_words(&self) -> String {
        let pgs: Vec<PgId> = self.node.cluster().map().pgs().map(|(pg, _)| pg).collect();
        self.unfound_in_words(&pgs)
    }

    /// `image vol at 8.0 MiB (PG 0.1f), object 0x300000002 of no image (PG 0.2) and 7 more`
    fn unfound_in_words(&self, pgs: &[PgId]) -> String {
        let cluster = self.node.cluster();
        let all: Vec<(PgId, ObjectNo)> = pgs
            .iter()
            .flat_map(|pg| cluster.unfound_objects(*pg).iter().map(|object| (*pg, *object)))
            .collect();
        let named = |(pg, object): &(PgId, ObjectNo)| {
            let UnfoundObject { object, image, offset_bytes } = self.shown_object(*object);
            let what = match (image, offset_bytes) {
                (Some(image), Some(offset)) => format!("image {image} at {}", Bytes::new(offset)),
                _ => format!("object {object:#x} of no image"),
            };
            format!("{what} (PG {})", cluster.pg_name(*pg))
        };
        let shown = all.iter().take(NAMED_MAX).map(named).collect::<Vec<_>>().join(", ");
        match all.len() {
            0 => "nothing".to_owned(),
            count if count <= NAMED_MAX => shown,
            count => format!("{shown} and {} more", count - NAMED_MAX),
        }
    }
}
