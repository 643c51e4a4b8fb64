//! The device: requests of the rings in, commands at the disk and its medium, answers into the rings.

use crate::contents::DriveContents;
use crate::counts::{DriveCounts, DriveStatistics, Left, ModelStatistics, guideline};
use crate::medium::{DriveMedium, MediumEnd};
use crate::session::{COMMANDS_MAX, ScsiRings};
use loadline_base::{Span, Time};
use loadline_scsi::{BLOCK_BYTES, Cdb, DiskAnswer, MediumCommand, MediumKind, ScsiDisk, SenseCode};
use loadline_sim::hdd::Ending;
use loadline_vhost::{BrokenRing, MachineMemory, MachineRing, RingRequest, Segments};
use loadline_wire::vhost::{
    CONTROL_BYTES, ControlRequest, DeviceResponse, REQUEST_BYTES, RESPONSE_BYTES, ScsiRequest,
    ScsiResponse, TaskFunction,
};
use std::collections::{BTreeMap, BTreeSet};

/// A disk with its medium and its contents, behind virtio-scsi.
#[derive(Debug)]
pub struct ScsiDevice {
    disk: ScsiDisk,
    medium: DriveMedium,
    contents: DriveContents,
    counts: DriveCounts,
    /// Commands at the medium, by the numbers that it knows them by.
    open: BTreeMap<u64, OpenCommand>,
    numbers: u64,
    /// Room for the data of one command on its way between contents and machine.
    buffer: Vec<u8>,
}

/// A command at the medium.
#[derive(Clone, Debug)]
struct OpenCommand {
    tag: u64,
    arrived: Time,
    command: MediumCommand,
    guideline: Option<Span>,
    /// The ring of commands in which it is answered.
    ring: usize,
    request: RingRequest,
}

/// Statuses of SCSI.
const GOOD: u8 = 0x00;
const CHECK_CONDITION: u8 = 0x02;
const TASK_SET_FULL: u8 = 0x28;

/// What a request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScsiOutcome {
    response: DeviceResponse,
    status: u8,
    sense: Option<SenseCode>,
    /// How many bytes went to the machine.
    data: u64,
}

impl ScsiOutcome {
    /// There is no room for the command now.
    const FULL: ScsiOutcome = ScsiOutcome { status: TASK_SET_FULL, ..ScsiOutcome::good(0) };

    const fn good(data: u64) -> ScsiOutcome {
        ScsiOutcome { response: DeviceResponse::Done, status: GOOD, sense: None, data }
    }

    /// The command ended, and there is something to say about it.
    fn with_sense(sense: SenseCode) -> ScsiOutcome {
        let status = if sense.is_check_condition() { CHECK_CONDITION } else { GOOD };
        ScsiOutcome { status, sense: Some(sense), ..ScsiOutcome::good(0) }
    }

    /// The device did not carry the command out to its end.
    fn without_status(response: DeviceResponse) -> ScsiOutcome {
        ScsiOutcome { response, ..ScsiOutcome::good(0) }
    }
}

/// What becomes of a command that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandStart {
    /// The medium has to do something.
    Medium(MediumCommand),
    /// It is over.
    Ended(ScsiOutcome),
}

/// What answers a question about events: those that are there (32 bits), and a response of 0.
const EVENTS_ANSWER_BYTES: usize = 5;

/// A task management function was carried out; a query found a command; there is no such disk; the function is not known.
const FUNCTION_COMPLETE: u8 = 0;
const FUNCTION_SUCCEEDED: u8 = 10;
const FUNCTION_REJECTED: u8 = 11;
const INCORRECT_LUN: u8 = 12;

impl ScsiDevice {
    /// A device that nobody uses yet.
    pub fn new(disk: ScsiDisk, mut medium: DriveMedium, contents: DriveContents) -> ScsiDevice {
        medium.set_limits(disk.limits());
        ScsiDevice {
            disk,
            medium,
            contents,
            counts: DriveCounts::default(),
            open: BTreeMap::new(),
            numbers: 0,
            buffer: Vec::new(),
        }
    }

    /// What it has counted by `now`.
    pub fn statistics(&self, now: Time) -> DriveStatistics {
        DriveStatistics {
            seconds: now.since(Time::ZERO).nanos() / 1_000_000_000,
            counts: self.counts,
            model: self.medium.statistics().map(ModelStatistics::from),
        }
    }

    /// When something happens without a request.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.medium.next_event()
    }

    /// A machine has connected.
    pub(crate) fn connected(&mut self) {
        self.counts.sessions += 1;
    }

    /// The machine has gone: its commands are nobody's any more, and the disk is as after a start.
    pub(crate) fn disconnected(&mut self, now: Time) {
        self.forget_commands(now, None);
        self.reset();
    }

    /// Whether commands are at the medium that will end by themselves.
    pub(crate) fn is_busy(&self) -> bool {
        self.open.values().any(|open| !self.medium.is_silent_about(&open.command))
    }

    /// A ring goes in which commands would be answered, or all do: those that are at the medium are nobody's any more.
    pub(crate) fn forget_commands(&mut self, now: Time, ring: Option<usize>) {
        self.take_back(now, |open| ring.is_none_or(|ring| open.ring == ring));
    }

    fn reset(&mut self) {
        self.disk.reset();
        self.medium.set_limits(self.disk.limits());
    }

    /// Takes what the rings of commands offer: no more than they have room for, as what is offered meanwhile is kicked for.
    pub(crate) fn take_requests(
        &mut self,
        now: Time,
        rings: &mut ScsiRings<'_>,
    ) -> Result<(), BrokenRing> {
        let ScsiRings { requests, memory, .. } = rings;
        for (number, ring) in requests.iter_mut().enumerate() {
            let mut answered = false;
            for _ in 0..ring.size() {
                let Some(request) = ring.take(memory)? else { break };
                answered |= self.take_request(now, request, (number, ring), memory)?;
            }
            if answered {
                ring.call(memory)?;
            }
        }
        Ok(())
    }

    /// Whether the request is answered already.
    fn take_request(
        &mut self,
        now: Time,
        request: RingRequest,
        (number, ring): (usize, &mut MachineRing),
        memory: &MachineMemory,
    ) -> Result<bool, BrokenRing> {
        let mut head = [0; REQUEST_BYTES];
        let has_head = request.readable.read(memory, 0, &mut head).is_ok();
        if !has_head || request.writable.bytes() < RESPONSE_BYTES as u64 {
            ring.answer(memory, request.head, 0)?;
            return Ok(true);
        }
        let scsi = ScsiRequest::decode(&head);
        let outcome = if !request.is_whole {
            self.counts.refused += 1;
            ScsiOutcome::without_status(DeviceResponse::Failure)
        } else if !scsi.is_for_disk() {
            ScsiOutcome::without_status(DeviceResponse::BadTarget)
        } else {
            match self.take_command(&scsi, &request, memory)? {
                CommandStart::Ended(outcome) => outcome,
                CommandStart::Medium(command) => {
                    let guideline = guideline(&self.disk.limits(), &command);
                    let (tag, arrived, ring) = (scsi.tag, now, number);
                    self.begin(OpenCommand { tag, arrived, command, guideline, ring, request });
                    return Ok(false);
                }
            }
        };
        answer(&request, ring, memory, outcome)?;
        Ok(true)
    }

    fn take_command(
        &mut self,
        scsi: &ScsiRequest,
        request: &RingRequest,
        memory: &MachineMemory,
    ) -> Result<CommandStart, BrokenRing> {
        let cdb = Cdb(scsi.cdb);
        let parameters = parameters(&request.readable, ScsiDisk::parameter_bytes(&cdb), memory);
        let outcome = match self.disk.command(&cdb, &parameters) {
            DiskAnswer::Medium(command) if !has_room(request, &command) => {
                self.counts.refused += 1;
                ScsiOutcome::without_status(DeviceResponse::Overrun)
            }
            DiskAnswer::Medium(_) if self.open.len() >= COMMANDS_MAX as usize => {
                self.counts.refused += 1;
                ScsiOutcome::FULL
            }
            DiskAnswer::Medium(command) => return Ok(CommandStart::Medium(command)),
            DiskAnswer::Data(data) => {
                self.counts.others += 1;
                let room = request.writable.bytes() - RESPONSE_BYTES as u64;
                let length = data.len().min(usize::try_from(room).unwrap_or(usize::MAX));
                let written =
                    request.writable.write(memory, RESPONSE_BYTES as u64, &data[..length]);
                written.map_err(|_| BrokenRing)?;
                ScsiOutcome::good(length as u64)
            }
            DiskAnswer::NewLimits => {
                self.counts.others += 1;
                self.medium.set_limits(self.disk.limits());
                ScsiOutcome::good(0)
            }
            DiskAnswer::Refused(sense) => {
                self.counts.refused += 1;
                ScsiOutcome::with_sense(sense)
            }
        };
        Ok(CommandStart::Ended(outcome))
    }

    fn begin(&mut self, open: OpenCommand) {
        self.counts.arrived(&open.command);
        self.numbers += 1;
        self.medium.submit(open.arrived, self.numbers, &open.command);
        self.open.insert(self.numbers, open);
    }

    /// Brings the medium to `now` and answers what has ended by then.
    pub(crate) fn advance(
        &mut self,
        now: Time,
        rings: Option<ScsiRings<'_>>,
    ) -> Result<(), BrokenRing> {
        let mut ended = Vec::new();
        self.medium.advance(now, &mut ended);
        let Some(ScsiRings { requests, memory, .. }) = rings else { return Ok(()) };
        let mut answered = BTreeSet::new();
        for MediumEnd { id, ending } in ended {
            // What was taken back while it was carried out ends all the same, and is nobody's.
            let Some(open) = self.open.remove(&id) else { continue };
            self.finish(now, &open, ending, &mut requests[open.ring], memory)?;
            answered.insert(open.ring);
        }
        answered.into_iter().try_for_each(|ring| requests[ring].call(memory))
    }

    fn finish(
        &mut self,
        now: Time,
        open: &OpenCommand,
        ending: Ending,
        ring: &mut MachineRing,
        memory: &MachineMemory,
    ) -> Result<(), BrokenRing> {
        let (left, outcome) = match sense_of(ending) {
            Some(sense) => (Left::Ended(ending), ScsiOutcome::with_sense(sense)),
            None => match self.transfer(open, memory)? {
                Some(data) => (Left::Ended(ending), ScsiOutcome::good(data)),
                None if open.command.kind == MediumKind::Write => {
                    (Left::Failed, ScsiOutcome::with_sense(SenseCode::UNWRITTEN))
                }
                None => (Left::Failed, ScsiOutcome::with_sense(SenseCode::UNREADABLE)),
            },
        };
        self.count_left(open, now, left);
        answer(&open.request, ring, memory, outcome)
    }

    fn count_left(&mut self, open: &OpenCommand, now: Time, left: Left) {
        self.counts.left(&open.command, left, now.since(open.arrived), open.guideline);
    }

    /// Moves a command's data. Gives how many bytes went to the machine; `None` if the contents fail.
    fn transfer(
        &mut self,
        open: &OpenCommand,
        memory: &MachineMemory,
    ) -> Result<Option<u64>, BrokenRing> {
        let offset = open.command.block * BLOCK_BYTES;
        let length = open.command.blocks * BLOCK_BYTES;
        let RingRequest { readable, writable, .. } = &open.request;
        match open.command.kind {
            MediumKind::Flush => Ok(Some(0)),
            MediumKind::Read => {
                let data = resized(&mut self.buffer, length);
                if self.contents.read(offset, data).is_err() {
                    return Ok(None);
                }
                let written = writable.write(memory, RESPONSE_BYTES as u64, data);
                written.map_err(|_| BrokenRing)?;
                Ok(Some(data.len() as u64))
            }
            MediumKind::Write => {
                let data = resized(&mut self.buffer, length);
                readable.read(memory, REQUEST_BYTES as u64, data).map_err(|_| BrokenRing)?;
                Ok(self.contents.write(offset, data).is_ok().then_some(0))
            }
        }
    }

    /// Takes what the control ring offers, likewise. A command that it ends is answered before it is itself, as the machine
    /// expects.
    pub(crate) fn take_controls(
        &mut self,
        now: Time,
        rings: &mut ScsiRings<'_>,
    ) -> Result<(), BrokenRing> {
        let ScsiRings { controls, requests, memory } = rings;
        let mut answered = false;
        for _ in 0..controls.size() {
            let Some(request) = controls.take(memory)? else { break };
            let mut bytes = [0; CONTROL_BYTES];
            let there = request.readable.bytes().min(CONTROL_BYTES as u64) as usize;
            request.readable.read(memory, 0, &mut bytes[..there]).map_err(|_| BrokenRing)?;
            let asked = ControlRequest::decode(&bytes);
            let answer = match asked {
                _ if !request.is_whole => vec![FUNCTION_REJECTED],
                ControlRequest::Task(function) => {
                    vec![self.manage(now, function, requests, memory)?]
                }
                ControlRequest::OtherDisk => vec![INCORRECT_LUN],
                // None of the events that were asked for can be told.
                ControlRequest::Events => vec![0; EVENTS_ANSWER_BYTES],
                ControlRequest::Unknown => vec![FUNCTION_REJECTED],
            };
            let answer = &answer[..answer.len().min(request.writable.bytes() as usize)];
            request.writable.write(memory, 0, answer).map_err(|_| BrokenRing)?;
            controls.answer(memory, request.head, answer.len() as u32)?;
            answered = true;
        }
        if answered { controls.call(memory) } else { Ok(()) }
    }

    fn manage(
        &mut self,
        now: Time,
        function: TaskFunction,
        requests: &mut [MachineRing],
        memory: &MachineMemory,
    ) -> Result<u8, BrokenRing> {
        self.counts.task_functions += 1;
        let has = |tag: u64| self.open.values().any(|open| open.tag == tag);
        let (tag, response) = match function {
            TaskFunction::Query { tag } if has(tag) => return Ok(FUNCTION_SUCCEEDED),
            TaskFunction::QueryAny if !self.open.is_empty() => return Ok(FUNCTION_SUCCEEDED),
            TaskFunction::Query { .. } | TaskFunction::QueryAny => return Ok(FUNCTION_COMPLETE),
            TaskFunction::Unknown => return Ok(FUNCTION_REJECTED),
            TaskFunction::Abort { tag } => (Some(tag), DeviceResponse::Aborted),
            TaskFunction::AbortAll => (None, DeviceResponse::Aborted),
            TaskFunction::Reset => (None, DeviceResponse::Reset),
        };
        for open in self.take_back(now, |open| tag.is_none_or(|tag| open.tag == tag)) {
            let ring = &mut requests[open.ring];
            answer(&open.request, ring, memory, ScsiOutcome::without_status(response))?;
            ring.call(memory)?;
        }
        if function == TaskFunction::Reset {
            self.reset();
        }
        Ok(FUNCTION_COMPLETE)
    }

    /// Takes back the commands that are meant.
    fn take_back(
        &mut self,
        now: Time,
        is_meant: impl Fn(&OpenCommand) -> bool,
    ) -> Vec<OpenCommand> {
        let ended: Vec<(u64, OpenCommand)> =
            self.open.extract_if(.., |_, open| is_meant(open)).collect();
        for (number, open) in &ended {
            self.medium.take_back(now, *number);
            self.count_left(open, now, Left::Aborted);
        }
        ended.into_iter().map(|(_, open)| open).collect()
    }
}

fn resized(buffer: &mut Vec<u8>, length: u64) -> &mut [u8] {
    buffer.resize(length as usize, 0);
    buffer
}

/// Whether a command for the medium brings all that it writes, or has room for all that it reads.
fn has_room(request: &RingRequest, command: &MediumCommand) -> bool {
    let length = command.blocks * BLOCK_BYTES;
    match command.kind {
        MediumKind::Flush => true,
        MediumKind::Read => request.writable.bytes() >= RESPONSE_BYTES as u64 + length,
        MediumKind::Write => request.readable.bytes() >= REQUEST_BYTES as u64 + length,
    }
}

/// Parameters stand behind the request's head; of fewer than announced there are those.
fn parameters(readable: &Segments, announced: usize, memory: &MachineMemory) -> Vec<u8> {
    let there = readable.bytes() - REQUEST_BYTES as u64;
    let mut bytes = vec![0; announced.min(usize::try_from(there).unwrap_or(usize::MAX))];
    let read = readable.read(memory, REQUEST_BYTES as u64, &mut bytes);
    read.map_or_else(|_| Vec::new(), |()| bytes)
}

/// What a host is told of an ending (cdl.md 1.4).
fn sense_of(ending: Ending) -> Option<SenseCode> {
    match ending {
        Ending::Good => None,
        Ending::DataUnavailable => Some(SenseCode::UNAVAILABLE),
        Ending::AbortedBefore => Some(SenseCode::LIMIT_BEFORE),
        Ending::AbortedDuring => Some(SenseCode::LIMIT_DURING),
        Ending::AbortedInRecovery => Some(SenseCode::LIMIT_IN_RECOVERY),
        Ending::MediaError => Some(SenseCode::UNREADABLE),
    }
}

/// Answers a request whose data went to the machine, or came from it all.
fn answer(
    request: &RingRequest,
    ring: &mut MachineRing,
    memory: &MachineMemory,
    ScsiOutcome { response, status, sense, data }: ScsiOutcome,
) -> Result<(), BrokenRing> {
    let fixed = sense.map(SenseCode::fixed);
    let room = request.writable.bytes() - RESPONSE_BYTES as u64;
    let bytes = ScsiResponse {
        response,
        status,
        sense: fixed.as_ref().map_or(&[][..], |sense| sense.as_slice()),
        residual: u32::try_from(room - data).unwrap_or(u32::MAX),
    }
    .bytes();
    request.writable.write(memory, 0, &bytes).map_err(|_| BrokenRing)?;
    ring.answer(memory, request.head, (RESPONSE_BYTES as u64 + data) as u32)
}
