//! Which command is carried out where.

use super::{Outcome, Ticket};
use crate::admin::api::{
    Answer, Command, ConfigCommand, Done, ImageCommand, OsdCommand, PoolCommand, Refusal,
};
use crate::engine::Engine;
use loadline_osd::OsdId;

/// What every command comes to.
pub(in crate::engine) type Executed = Result<Outcome, Refusal>;

pub(super) const DONE: Answer = Answer::Done(Done {});

pub(super) fn now(answer: Answer) -> Executed {
    Ok(Outcome::Now(Ok(answer)))
}

impl Engine {
    /// Carries a command out, or begins to.
    pub(super) fn execute(&mut self, ticket: Ticket, command: &Command) -> Executed {
        match command {
            Command::Meant(meant) => self.carry_command_out(ticket, (**meant).clone()),
            _ => match self.cost(command) {
                Some(refusal) => Err(refusal),
                None => self.carry_command_out(ticket, command.clone()),
            },
        }
    }

    fn carry_command_out(&mut self, ticket: Ticket, command: Command) -> Executed {
        match command {
            Command::Status => now(self.status()),
            Command::Osd(command) => self.execute_osd(ticket, command),
            Command::Pool(PoolCommand::List) => now(self.pool_list()),
            Command::Pool(PoolCommand::Create(asked)) => self.pool_create(asked),
            Command::Pool(PoolCommand::Remove(name)) => self.pool_remove(&name),
            Command::Image(command) => self.execute_image(command),
            Command::Config(command) => self.execute_config(command),
            Command::Ops => now(self.ops_in_flight()),
            Command::OpHistory => now(self.op_history()),
            Command::Shutdown => {
                self.begin_stop();
                now(DONE)
            }
            Command::Meant(_) => Err(Refusal::bad("a command is meant once")),
        }
    }

    fn execute_osd(&mut self, ticket: Ticket, command: OsdCommand) -> Executed {
        match command {
            OsdCommand::List => now(self.osd_list()),
            OsdCommand::Move(osd, step) => self.osd_move(ticket, osd, step),
            OsdCommand::Add(asked) => self.osd_add(ticket, asked),
            OsdCommand::Replace(osd, asked) => self.osd_replace(ticket, osd, asked),
            OsdCommand::Remove(osd) => self.osd_remove(osd),
            OsdCommand::Queues(osd) => self.queues(osd),
            OsdCommand::Bench(osd, asked) => {
                self.known_osd(osd)?;
                self.begin_osd_bench(ticket, osd, &asked)
            }
            OsdCommand::OkToStop(osds) => self.ok_to_stop(&osds),
        }
    }

    fn execute_image(&mut self, command: ImageCommand) -> Executed {
        match command {
            ImageCommand::List => now(self.image_list()),
            ImageCommand::Info(name) => now(self.image_info(&name)?),
            ImageCommand::Snapshots(name) => now(self.snapshot_list(&name)?),
            ImageCommand::Create(asked) => self.image_create(&asked),
            ImageCommand::Resize(name, size) => {
                self.image_change(|images| images.resize(&name, size).map(drop))
            }
            ImageCommand::Rename { image, name } => {
                self.image_change(|images| images.rename(&image, &name))
            }
            ImageCommand::Remove(name) => {
                self.image_change(|images| images.remove(&name).map(drop))
            }
            ImageCommand::Clone { from, name } => {
                self.image_change(|images| images.clone_image(&from.to_string(), &name).map(drop))
            }
            ImageCommand::Snapshot(name) => self.image_change(|images| {
                images.snapshot_create(&name.image, &name.snapshot).map(drop)
            }),
            ImageCommand::RemoveSnapshot(name) => self.image_change(|images| {
                images.snapshot_remove(&name.image, &name.snapshot).map(drop)
            }),
        }
    }

    fn execute_config(&mut self, command: ConfigCommand) -> Executed {
        match command {
            ConfigCommand::Show(who) => now(self.config_show(who)?),
            ConfigCommand::Get(who, option) => now(self.config_get(who, &option)?),
            ConfigCommand::Set { who, option, value, level } => {
                self.config_set(who, &option, &value, level)
            }
            ConfigCommand::Remove { who, option, level } => self.config_remove(who, &option, level),
        }
    }

    /// An OSD of this node.
    pub(super) fn known_osd(&self, osd: OsdId) -> Result<OsdId, Refusal> {
        match self.node.cluster().map().is_removed(osd) {
            false => self.known_number(osd),
            true => Err(Refusal::not_found(format!("{osd} was removed"))
                .wants("another OSD, or a disk for this number")),
        }
    }

    /// The number of an OSD, also of one that was removed.
    pub(super) fn known_number(&self, osd: OsdId) -> Result<OsdId, Refusal> {
        let osds = self.node.cluster().map().osds();
        match osds.get(osd) {
            Some(_) => Ok(osd),
            None => Err(Refusal::not_found(format!("there is no {osd}"))
                .wants(format!("one of osd.0 to osd.{}", osds.len() - 1))),
        }
    }

    /// Why no change of the map can be kept now, if that is so.
    pub(super) fn without_quorum(&self) -> Option<Refusal> {
        let missing = self.node.cluster().missing_holders();
        let names: Vec<String> = missing.iter().map(|osd| osd.to_string()).collect();
        (!missing.is_empty()).then(|| {
            Refusal::unavailable(format!(
                "no change of the map can be kept: of its holders too few are up, and {} must come back",
                names.join(" or ")
            ))
        })
    }

    /// Refuses a change that could not be kept.
    pub(super) fn take_changes(&self) -> Result<(), Refusal> {
        self.without_quorum().map_or(Ok(()), Err)
    }
}
