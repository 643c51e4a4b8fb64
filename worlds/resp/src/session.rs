//! One connection: its requests in their order, several of them on their way where that makes no difference.

use crate::budget::{ConnectionMemory, FREE_BYTES, HeldBytes};
use crate::commands::{COMMANDS, KeyCommand, has_arity, integer};
use crate::gate::Passed;
use crate::info;
use crate::keys::ANSWER_BYTES_MAX;
use crate::needs;
use crate::outgoing::Outgoing;
use crate::refusal::RespRefusal;
use crate::scan::{self, KeyWalker};
use crate::service::{CommandTerms, DATABASES, EndedCommand, Queued, Service, count, told};
use crate::strangers::Stranger;
use crate::users::DEFAULT_USER;
use crate::watch::KeyWatch;
use futures_util::StreamExt;
use futures_util::future::{LocalBoxFuture, ready};
use futures_util::stream::FuturesOrdered;
use loadline_kv::now_ms;
use loadline_qos::FlowId;
use loadline_wire::resp::{RespLimits, RespReader, RespReply, RespRequest, RespVersion};
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

/// What a connection may make the server keep: a request, which may have as many strings as the original's, and a transaction's commands.
const LIMITS: RespLimits =
    RespLimits { string_bytes: 8 << 20, request_bytes: 8 << 20, strings: 1 << 20 };
const MULTI_BYTES_MAX: usize = 8 << 20;
/// Commands of one connection on their way at a time.
const ON_THEIR_WAY_MAX: usize = 128;
/// How long a request that is not whole, or a transaction that is not ended, may keep what others wait for while nothing comes.
const STANDSTILL: Duration = Duration::from_secs(10);
/// How long a request that has taken memory before it is whole may take to become so, while others wait.
const WHOLE: Duration = Duration::from_secs(30);
/// When it is looked again whether others wait.
const LOOK: Duration = Duration::from_secs(1);
/// What a connection may be called with.
const NAME_BYTES_MAX: usize = 256;
/// Who has to say who it is and has not by then makes room for others.
const LOGIN: Duration = Duration::from_secs(30);

/// See [above](self).
pub(crate) struct RespSession<S> {
    service: Rc<Service>,
    number: u64,
    user: Option<SessionUser>,
    /// What it has of its peer's part of the places, as long as it is nobody.
    stranger: Option<Stranger>,
    /// Until when it may be nobody.
    login_by: Instant,
    database: u8,
    version: RespVersion,
    name: Vec<u8>,
    memory: Rc<ConnectionMemory>,
    /// What the request that is not whole has taken, and when.
    coming: Option<(HeldBytes, Instant)>,
    watch: KeyWatch,
    multi: Option<Multi>,
    on_their_way: FuturesOrdered<LocalBoxFuture<'static, RespAnswer>>,
    /// Whether those change something.
    are_writes: bool,
    out: Outgoing<S>,
}

/// An answer, and what it has of the server's memory until it is put down.
struct RespAnswer {
    reply: RespReply,
    /// What is to be carried out again when it is the next to be answered, since there was no room for its answer.
    again: Option<Queued>,
    _held: Option<HeldBytes>,
}

impl RespAnswer {
    /// What a command is answered, which has of the memory what it takes.
    fn ended(command: &'static KeyCommand, ended: EndedCommand, mut held: HeldBytes) -> RespAnswer {
        let EndedCommand { answer, request } = ended;
        let request = request.filter(|_| matches!(answer, Err(RespRefusal::Room)));
        let again = request.map(|request| (command, request));
        let reply = told(answer);
        held.set(if again.is_some() { 0 } else { reply.bytes() as u64 });
        RespAnswer { reply, again, _held: Some(held) }
    }
}

impl From<RespReply> for RespAnswer {
    fn from(reply: RespReply) -> RespAnswer {
        RespAnswer { reply, again: None, _held: None }
    }
}

#[derive(Clone, Copy)]
struct SessionUser {
    number: usize,
    flow: FlowId,
}

/// A transaction that is being told.
struct Multi {
    commands: Vec<Queued>,
    bytes: usize,
    /// What they will take when they are carried out, all of it before they are.
    held: HeldBytes,
    /// Whether one of its commands was refused, so that it cannot be carried out.
    is_broken: bool,
}

/// What follows an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Close,
}

impl<S: AsyncRead + AsyncWrite + Unpin> RespSession<S> {
    /// Answers what comes until one side has enough. With `idle`, a connection that says nothing for so long is closed.
    pub(crate) async fn run(mut self, idle: Option<Duration>) -> io::Result<()> {
        let mut reader = RespReader::new(LIMITS);
        let mut unread = self.memory.note(0);
        loop {
            let next = self.answer_all(&mut reader).await?;
            self.settle().await?;
            self.out.send().await?;
            let next = match next {
                Next::GoOn => self.make_room(&mut reader).await?,
                Next::Close => Next::Close,
            };
            if next == Next::Close {
                return self.out.close().await;
            }
            reader.rest();
            // What a request has taken before it is whole counts as that.
            let is_taken = self.coming.is_some();
            unread.set(if is_taken { reader.input() } else { reader.held() } as u64);
            if self.receive(&mut reader, idle).await? == 0 {
                return Ok(());
            }
        }
    }

    /// A request that is not whole, and is longer than what every connection has, takes what it may come to before more of it is read. One that could never have what it is known to need is
    /// refused, and what else comes of it is let go.
    async fn make_room(&mut self, reader: &mut RespReader) -> io::Result<Next> {
        let Some(coming) = reader.coming() else {
            self.coming = None;
            return Ok(Next::GoOn);
        };
        let (known, most) = needs::of_coming(&coming, LIMITS.request_bytes);
        // Most that are not whole are short, and cut by what is received at once.
        let is_long = coming.bytes as u64 > FREE_BYTES / 2 || known > FREE_BYTES;
        let largest = self.memory.budget().largest();
        if self.user.is_none() && is_long {
            // Who is nobody has nothing to say that is so long.
            self.put(&RespRefusal::NoAuth.into());
            self.out.send().await?;
            return Ok(Next::Close);
        }
        if known > largest {
            let name = coming.name.unwrap_or(b"it").to_ascii_uppercase();
            let what = format!("{} with {} strings", name.escape_ascii(), coming.strings);
            let refusal = RespRefusal::Needs { what, bytes: known, most: largest };
            self.coming = None;
            self.multi.iter_mut().for_each(Multi::break_off);
            reader.skip();
            self.put(&refusal.into());
            self.out.send().await?;
        } else if is_long && self.coming.is_none() {
            match self.memory.take(most.min(largest)).await {
                Ok(held) => self.coming = Some((held, Instant::now())),
                Err(refusal) => {
                    self.put(&refusal.into());
                    self.out.send().await?;
                    return Ok(Next::Close);
                }
            }
        }
        Ok(Next::GoOn)
    }

    /// Waits for something of this connection. Answers how many bytes came: 0 at its end, or when it has no more patience to expect and is closed.
    async fn receive(
        &mut self,
        reader: &mut RespReader,
        idle: Option<Duration>,
    ) -> io::Result<usize> {
        let began = Instant::now();
        let idle_until = idle.map(|idle| began + idle);
        let login_until = Some(self.login_by).filter(|_| self.user.is_none());
        let over = [idle_until, login_until].into_iter().flatten().min();
        // Whether others need what it keeps is known when they come, which may be later.
        let keeps_much = reader.unread() > 0 || self.memory.kept() > FREE_BYTES;
        let whole_by = self.coming.as_ref().map(|(_, since)| *since + WHOLE);
        let service = Rc::clone(&self.service);
        let mut look_at = began + STANDSTILL;
        loop {
            let now = Instant::now();
            let is_over = over.is_some_and(|over| now >= over);
            let is_still = now >= began + STANDSTILL || whole_by.is_some_and(|by| now >= by);
            if is_over || (keeps_much && is_still && service.budget.is_short()) {
                self.out.close().await?;
                return Ok(0);
            }
            let until = over.into_iter().chain(keeps_much.then_some(look_at)).min();
            let came = service.received.receive(self.out.stream(), reader);
            let Some(until) = until else { return came.await };
            match tokio::time::timeout_at(until, came).await {
                Ok(came) => return came,
                Err(_) => look_at = Instant::now() + LOOK,
            }
        }
    }

    /// Answers every request that is whole.
    async fn answer_all(&mut self, reader: &mut RespReader) -> io::Result<Next> {
        loop {
            match reader.next_request() {
                Ok(None) => return Ok(Next::GoOn),
                Ok(Some(request)) => {
                    if self.handle(request).await? == Next::Close {
                        return Ok(Next::Close);
                    }
                    if self.out.is_long() {
                        self.out.send().await?;
                    }
                }
                Err(fault) => {
                    self.answer(RespReply::Error(format!("ERR {fault}")));
                    return Ok(Next::Close);
                }
            }
        }
    }

    /// Waits until nothing is on its way.
    async fn settle(&mut self) -> io::Result<()> {
        while let Some(answer) = self.on_their_way.next().await {
            match answer.again {
                None => self.put(&answer.reply),
                Some((command, request)) => self.with_nothing_kept(command, request, None).await?,
            }
            if self.out.is_long() {
                self.out.send().await?;
            }
        }
        Ok(())
    }

    async fn handle(&mut self, request: RespRequest) -> io::Result<Next> {
        let coming = self.coming.take().map(|(held, _)| held);
        count(&self.service.counts.commands);
        let name = request.get(0).unwrap_or_default().to_ascii_lowercase();
        let name = String::from_utf8_lossy(&name).into_owned();
        if let Some(command) = KeyCommand::named(&name) {
            self.on_keys(command, request, coming).await?;
            return Ok(Next::GoOn);
        }
        self.settle().await?;
        if self.service.budget.is_short() {
            // It may have to wait, and nobody waits for what it has.
            self.out.send().await?;
        }
        // A browser says one of these in its first lines, before what a page has it send.
        if matches!(name.as_str(), "post" | "host:") {
            return Ok(Next::Close);
        }
        let told = self.on_session(&name, &request).await;
        let (reply, next) = match told {
            Ok(told) => told,
            Err(refusal) => {
                self.multi.iter_mut().for_each(Multi::break_off);
                (refusal.into(), Next::GoOn)
            }
        };
        self.put(&reply);
        Ok(next)
    }

    /// A command on keys: carried out, or kept for the end of the transaction. What was taken of the memory while it came is its own.
    async fn on_keys(
        &mut self,
        command: &'static KeyCommand,
        request: RespRequest,
        coming: Option<HeldBytes>,
    ) -> io::Result<()> {
        let Some(user) = self.user else {
            self.answer(RespRefusal::NoAuth.into());
            return Ok(());
        };
        if let Some(multi) = &mut self.multi {
            drop(coming);
            let reply = multi.add(command, request, &self.memory);
            self.answer(reply);
            return Ok(());
        }
        let writes = command.writes();
        // Nobody waits for a client while its command has its turn: others wait for that.
        let is_last = self.on_their_way.len() >= ON_THEIR_WAY_MAX;
        // What changes something keeps its order in the database, and what reads behind that goes the same way. Reads may be overtaken.
        if is_last || (writes && !self.are_writes) {
            self.settle().await?;
        }
        if self.on_their_way.is_empty() {
            self.are_writes = writes;
        }
        let (database, in_line) = (self.database, self.are_writes);
        let need = needs::of_request(command, &request);
        // What is only read is found out to be longer, and an update cannot be carried out twice.
        let each =
            if in_line { self.service.value_bytes as usize } else { self.service.usual.get() };
        let room = command.longest(&request, in_line, each as u64);
        let held = match coming {
            None => self.memory.try_take(need + room).ok_or(None),
            Some(mut held) => {
                held.set(need);
                if held.try_set(need + room) { Ok(held) } else { Err(Some(held)) }
            }
        };
        let mut held = match held {
            Ok(held) => held,
            Err(held) => return self.alone(command, request, held).await,
        };
        let passed = self.service.gate.pass(user.flow, command.cost(&request)).await;
        let service = Rc::clone(&self.service);
        let terms = CommandTerms { database, in_line, room, each, lane: 0 };
        let begun = service.begin(terms, command, request);
        self.go_on_without_me(async move {
            let ended = service.end((terms, &mut held), command, begun).await;
            drop(passed);
            RespAnswer::ended(command, ended, held)
        });
        Ok(())
    }

    /// The same where there is no room for the longest that it may come to: with nothing else on its way, so that nobody waits for it while it waits.
    async fn alone(
        &mut self,
        command: &'static KeyCommand,
        request: RespRequest,
        held: Option<HeldBytes>,
    ) -> io::Result<()> {
        self.settle().await?;
        self.with_nothing_kept(command, request, held).await
    }

    /// The same, as soon as all answers before it are sent.
    async fn with_nothing_kept(
        &mut self,
        command: &'static KeyCommand,
        request: RespRequest,
        held: Option<HeldBytes>,
    ) -> io::Result<()> {
        self.out.send().await?;
        let (need, largest) =
            (needs::of_request(command, &request), self.memory.budget().largest());
        let ended = match held {
            Some(held) => self.with_what_there_is(command, request, held).await,
            None if need > largest => {
                let what =
                    format!("{} with {} strings", command.name.to_uppercase(), request.len());
                Err(RespRefusal::Needs { what, bytes: need, most: largest })
            }
            None => match self.memory.take(need).await {
                Ok(held) => self.with_what_there_is(command, request, held).await,
                Err(refusal) => Err(refusal),
            },
        };
        match ended {
            Ok((reply, held)) => {
                self.put(&reply);
                drop(held);
            }
            Err(refusal) => self.put(&refusal.into()),
        }
        Ok(())
    }

    /// Carries a command out with as much room for its answer as there is, and again with enough of it if that was too little: then it has done nothing.
    async fn with_what_there_is(
        &self,
        command: &'static KeyCommand,
        request: RespRequest,
        held: HeldBytes,
    ) -> Result<(RespReply, HeldBytes), RespRefusal> {
        let (database, in_line) = (self.database, command.writes());
        let longest = command.longest(&request, in_line, self.service.value_bytes);
        let mut room = longest.min(self.memory.room());
        let mut answer = self.memory.note(room);
        loop {
            let (each, lane) = (usize::MAX, self.service.value_bytes);
            let terms = CommandTerms { database, in_line, room, each, lane };
            let value = self.memory.budget().value().await;
            let passed = self.turn(command.cost(&request)).await?;
            let begun = self.service.begin(terms, command, request.clone());
            let ended = self.service.end((terms, &mut answer), command, begun).await;
            drop((passed, value));
            match ended.answer {
                Err(RespRefusal::Room) if room < self.most_answered(&held) => {
                    answer.set(0);
                    room = self.most_answered(&held);
                    answer = self.memory.take(room).await?;
                }
                ended => return Ok((told(ended), answer)),
            }
        }
    }

    /// What a command may read and answer at most, beside what it has.
    fn most_answered(&self, held: &HeldBytes) -> u64 {
        let left = self.memory.budget().largest().saturating_sub(held.bytes());
        left.min(2 * ANSWER_BYTES_MAX as u64)
    }
}

impl<S> RespSession<S> {
    /// `stranger` goes when it is known who it is.
    pub(crate) fn new(
        service: Rc<Service>,
        number: u64,
        stream: S,
        stranger: Option<Stranger>,
    ) -> RespSession<S> {
        let memory = service.budget.connection();
        let out = Outgoing::new(stream, &memory);
        let mut session = RespSession {
            service,
            number,
            user: None,
            stranger,
            login_by: Instant::now() + LOGIN,
            database: 0,
            version: RespVersion::Two,
            name: Vec::new(),
            memory,
            coming: None,
            watch: KeyWatch::default(),
            multi: None,
            on_their_way: FuturesOrdered::new(),
            are_writes: false,
            out,
        };
        session.become_user(session.service.users.at_first());
        session
    }

    /// Puts a command among those that are on their way, as a task of its own: its turn is over when the database has answered, also while this
    /// connection waits for its next turn or for a client that takes nothing. Otherwise connections that wait for turns would keep all of them.
    fn go_on_without_me(&mut self, command: impl Future<Output = RespAnswer> + 'static) {
        let task = tokio::task::spawn_local(command);
        self.on_their_way.push_back(Box::pin(async move {
            task.await.expect("nobody ends it before its end, and a panic is everyone's")
        }));
    }

    /// Puts an answer down behind those that are on their way.
    fn answer(&mut self, reply: RespReply) {
        match self.on_their_way.is_empty() {
            true => self.put(&reply),
            false => self.on_their_way.push_back(Box::pin(ready(reply.into()))),
        }
    }

    fn put(&mut self, reply: &RespReply) {
        if matches!(reply, RespReply::Error(_)) {
            count(&self.service.counts.errors);
        }
        self.out.put(reply, self.version);
    }

    /// Every other command.
    async fn on_session(
        &mut self,
        name: &str,
        request: &RespRequest,
    ) -> Result<(RespReply, Next), RespRefusal> {
        let Some(command) = SESSION_COMMANDS.iter().find(|command| command.0 == name) else {
            return Err(RespRefusal::Unknown(name.chars().take(64).collect()));
        };
        if !has_arity(command.1, request) {
            return Err(RespRefusal::Arity(name.to_owned()));
        }
        if name == "quit" {
            return Ok((RespReply::OK, Next::Close));
        }
        let is_open = matches!(name, "auth" | "hello" | "reset");
        if self.user.is_none() && !is_open {
            return Err(RespRefusal::NoAuth);
        }
        let reply = match self.multi.is_some() {
            true => self.inside_multi(name).await?,
            false => self.outside_multi(name, request).await?,
        };
        Ok((reply, Next::GoOn))
    }

    async fn inside_multi(&mut self, name: &str) -> Result<RespReply, RespRefusal> {
        match name {
            "multi" => Err(RespRefusal::Nested),
            "watch" => Err(RespRefusal::WatchInside),
            "exec" => self.exec().await,
            "discard" => {
                self.multi = None;
                self.watch = KeyWatch::default();
                Ok(RespReply::OK)
            }
            "reset" => Ok(self.reset()),
            _ => {
                let command = SESSION_COMMANDS.iter().find(|command| command.0 == name);
                Err(RespRefusal::NotInside(command.map_or("this", |command| command.2)))
            }
        }
    }

    async fn outside_multi(
        &mut self,
        name: &str,
        request: &RespRequest,
    ) -> Result<RespReply, RespRefusal> {
        let string = |index| request.get(index).unwrap_or_default();
        match name {
            "multi" => self.multi = Some(Multi::new(&self.memory)),
            "exec" => return Err(RespRefusal::NoMulti("EXEC")),
            "discard" => return Err(RespRefusal::NoMulti("DISCARD")),
            "watch" => {
                let service = Rc::clone(&self.service);
                let keys = u32::try_from(request.len() - 1).unwrap_or(u32::MAX);
                let _passed = self.turn(keys).await?;
                let place = (self.database, service.keyspace(self.database));
                for key in request.iter().skip(1) {
                    self.watch.add(&service.db, &self.memory, place, key).await?;
                }
            }
            "unwatch" => self.watch = KeyWatch::default(),
            "ping" => {
                return Ok(match request.get(1) {
                    None => RespReply::Simple("PONG"),
                    Some(text) => RespReply::bulk(text),
                });
            }
            "echo" => return Ok(RespReply::bulk(string(1))),
            "auth" => {
                let (name, word) = match request.len() {
                    2 => (DEFAULT_USER.as_bytes(), string(1)),
                    _ => (string(1), string(2)),
                };
                self.log_in(name, word)?;
            }
            "hello" => return self.hello(request),
            "reset" => return Ok(self.reset()),
            "select" => {
                let number = integer(string(1)).and_then(|number| u8::try_from(number).ok());
                self.database =
                    number.filter(|number| *number < DATABASES).ok_or(RespRefusal::DbIndex)?;
            }
            "client" => return self.client(request),
            "command" => return commands_told(string(1)),
            "config" => {
                let user = self.user.ok_or(RespRefusal::NoAuth)?;
                return info::config(&self.service, user.number, request);
            }
            "info" => return info::info(&self.service, request).await,
            "time" => {
                let now = now_ms();
                let micros = (now % 1000) * 1000;
                let parts = [now / 1000, micros].map(|part| RespReply::bulk(part.to_string()));
                return Ok(RespReply::Array(parts.to_vec()));
            }
            "save" | "bgsave" => {
                let _passed = self.turn(1).await?;
                self.service.db.sync_later().await?;
            }
            _ => return self.on_all_keys(name, request).await,
        }
        Ok(RespReply::OK)
    }

    async fn on_all_keys(
        &mut self,
        name: &str,
        request: &RespRequest,
    ) -> Result<RespReply, RespRefusal> {
        let user = self.user.ok_or(RespRefusal::NoAuth)?;
        let (service, flow) = (&*self.service, user.flow);
        let walker = KeyWalker { service, memory: &self.memory, flow, database: self.database };
        match name {
            "scan" => scan::scan(walker, request).await,
            "keys" => scan::keys(walker, request.get(1).unwrap_or_default()).await,
            "dbsize" => scan::size(walker).await,
            "flushdb" | "flushall" => {
                let databases = match name {
                    "flushdb" => self.database..self.database + 1,
                    _ => 0..DATABASES,
                };
                for database in databases.clone() {
                    scan::empty(KeyWalker { database, ..walker }).await?;
                }
                scan::forget_times(walker, databases).await?;
                Ok(RespReply::OK)
            }
            other => unreachable!("{other} stands in the table and is carried out nowhere"),
        }
    }

    async fn exec(&mut self) -> Result<RespReply, RespRefusal> {
        let (multi, watch) = (self.multi.take(), std::mem::take(&mut self.watch));
        let Multi { commands, held, is_broken, .. } = multi.ok_or(RespRefusal::NoMulti("EXEC"))?;
        if is_broken {
            return Err(RespRefusal::Aborted);
        }
        let (service, database) = (&self.service, self.database);
        let is_update = !watch.is_empty() || commands.iter().any(|(command, _)| command.writes());
        let of =
            |(command, request): &Queued| command.longest(request, is_update, service.value_bytes);
        let longest = commands.iter().map(of).sum::<u64>().min(2 * ANSWER_BYTES_MAX as u64);
        // It waits for none with what it keeps: others would wait for that.
        let room = longest.min(self.memory.room());
        let answer = self.memory.note(room);
        let (value, lane) = match room < longest {
            true => (Some(service.budget.value().await), service.value_bytes),
            false => (None, 0),
        };
        let terms = CommandTerms { database, in_line: is_update, room, each: usize::MAX, lane };
        let costs = commands.iter().map(|(command, request)| command.cost(request));
        let cost = costs.fold(0, u32::saturating_add).max(1);
        let passed = self.turn(cost).await?;
        let done = match is_update {
            true => service.change(terms, commands, watch).await,
            false => service.look(terms, &commands).await.map(Some),
        };
        drop((passed, value, answer, held));
        Ok(done?.map_or(RespReply::NullArray, RespReply::Array))
    }

    /// Waits until something has its turn that costs so many commands.
    async fn turn(&self, cost: u32) -> Result<Passed, RespRefusal> {
        let user = self.user.ok_or(RespRefusal::NoAuth)?;
        Ok(self.service.gate.pass(user.flow, cost).await)
    }

    fn log_in(&mut self, name: &[u8], password: &[u8]) -> Result<(), RespRefusal> {
        let user = self.service.users.find(name, password).ok_or(RespRefusal::WrongPass)?;
        self.become_user(Some(user));
        Ok(())
    }

    fn become_user(&mut self, user: Option<usize>) {
        if let Some(before) = self.user.take() {
            self.service.gate.close(before.flow);
            // Who was nobody before has been waited for already.
            self.login_by = Instant::now() + LOGIN;
        }
        if user.is_some() {
            self.stranger = None;
        }
        self.user = user.map(|number| SessionUser {
            number,
            flow: self.service.gate.flow(number, self.number),
        });
    }

    fn reset(&mut self) -> RespReply {
        self.multi = None;
        self.watch = KeyWatch::default();
        self.database = 0;
        self.version = RespVersion::Two;
        self.name.clear();
        self.become_user(self.service.users.at_first());
        RespReply::Simple("RESET")
    }

    /// `HELLO [version [AUTH user password] [SETNAME name]]`.
    fn hello(&mut self, request: &RespRequest) -> Result<RespReply, RespRefusal> {
        let mut strings = request.iter().skip(1);
        let version = match strings.next() {
            None => self.version,
            Some(b"2") => RespVersion::Two,
            Some(b"3") => RespVersion::Three,
            Some(_) => return Err(RespRefusal::NoProto),
        };
        let mut name = None;
        while let Some(option) = strings.next() {
            match &option.to_ascii_uppercase()[..] {
                b"AUTH" => {
                    let user = strings.next().ok_or(RespRefusal::Syntax)?;
                    self.log_in(user, strings.next().ok_or(RespRefusal::Syntax)?)?;
                }
                b"SETNAME" => name = Some(strings.next().ok_or(RespRefusal::Syntax)?),
                _ => return Err(RespRefusal::Syntax),
            }
        }
        if self.user.is_none() {
            return Err(RespRefusal::NoAuth);
        }
        if let Some(name) = name {
            self.set_name(name)?;
        }
        self.version = version;
        let text = |key: &str, value: &str| (RespReply::bulk(key), RespReply::bulk(value));
        let number = |key: &str, value| (RespReply::bulk(key), RespReply::Integer(value));
        Ok(RespReply::Map(vec![
            text("server", "loadline"),
            text("version", info::SPOKEN_VERSION),
            number("proto", if version == RespVersion::Three { 3 } else { 2 }),
            number("id", self.number as i64),
            text("mode", "standalone"),
            text("role", "master"),
            (RespReply::bulk("modules"), RespReply::Array(Vec::new())),
        ]))
    }

    /// It is kept as long as the connection, beside what all of them may keep.
    fn set_name(&mut self, name: &[u8]) -> Result<(), RespRefusal> {
        if name.len() > NAME_BYTES_MAX {
            return Err(RespRefusal::ClientName(NAME_BYTES_MAX));
        }
        self.name = name.to_vec();
        Ok(())
    }

    fn client(&mut self, request: &RespRequest) -> Result<RespReply, RespRefusal> {
        let subcommand = request.get(1).unwrap_or_default().to_ascii_lowercase();
        match (&subcommand[..], request.get(2)) {
            (b"setname", Some(name)) => {
                self.set_name(name)?;
                Ok(RespReply::OK)
            }
            (b"getname", None) => Ok(RespReply::bulk(&self.name)),
            (b"id", None) => Ok(RespReply::Integer(self.number as i64)),
            // Names and versions of libraries are taken and not kept.
            (b"setinfo", Some(_)) => Ok(RespReply::OK),
            (b"info", None) => Ok(RespReply::Verbatim(format!(
                "id={} name={} db={} user={} resp={}\n",
                self.number,
                String::from_utf8_lossy(&self.name),
                self.database,
                self.user.map_or("", |user| self.service.users.name(user.number)),
                if self.version == RespVersion::Three { 3 } else { 2 },
            ))),
            _ => Err(RespRefusal::Subcommand(
                "CLIENT",
                String::from_utf8_lossy(&subcommand).into_owned(),
                "SETNAME, GETNAME, ID, INFO and SETINFO",
            )),
        }
    }
}

impl<S> Drop for RespSession<S> {
    fn drop(&mut self) {
        self.become_user(None);
    }
}

impl Multi {
    fn new(memory: &Rc<ConnectionMemory>) -> Multi {
        Multi { commands: Vec::new(), bytes: 0, held: memory.note(0), is_broken: false }
    }

    fn add(
        &mut self,
        command: &'static KeyCommand,
        request: RespRequest,
        memory: &ConnectionMemory,
    ) -> RespReply {
        if let Err(refusal) = command.check(&request) {
            self.break_off();
            return refusal.into();
        }
        if self.is_broken {
            return RespReply::Simple("QUEUED");
        }
        let bytes = self.bytes + request.bytes();
        let need = self.held.bytes() + needs::of_request(command, &request);
        let most = memory.budget().largest();
        if bytes > MULTI_BYTES_MAX {
            self.break_off();
            return RespRefusal::MultiBytes(MULTI_BYTES_MAX).into();
        }
        if need > most {
            self.break_off();
            let what = "this transaction".to_owned();
            return RespRefusal::Needs { what, bytes: need, most }.into();
        }
        if !self.held.try_set(need) {
            self.break_off();
            return RespRefusal::Memory.into();
        }
        self.bytes = bytes;
        self.commands.push((command, request));
        RespReply::Simple("QUEUED")
    }

    /// It cannot be carried out any more, so nothing of it is kept.
    fn break_off(&mut self) {
        self.is_broken = true;
        (self.commands, self.bytes) = (Vec::new(), 0);
        self.held.set(0);
    }
}

/// Commands that are not on keys: name, arity as the protocol has it, and the name for people.
const SESSION_COMMANDS: &[(&str, i32, &str)] = &[
    ("auth", -2, "AUTH"),
    ("bgsave", -1, "BGSAVE"),
    ("client", -2, "CLIENT"),
    ("command", -1, "COMMAND"),
    ("config", -2, "CONFIG"),
    ("dbsize", 1, "DBSIZE"),
    ("discard", 1, "DISCARD"),
    ("echo", 2, "ECHO"),
    ("exec", 1, "EXEC"),
    ("flushall", -1, "FLUSHALL"),
    ("flushdb", -1, "FLUSHDB"),
    ("hello", -1, "HELLO"),
    ("info", -1, "INFO"),
    ("keys", 2, "KEYS"),
    ("multi", 1, "MULTI"),
    ("ping", -1, "PING"),
    ("quit", -1, "QUIT"),
    ("reset", 1, "RESET"),
    ("save", 1, "SAVE"),
    ("scan", -2, "SCAN"),
    ("select", 2, "SELECT"),
    ("time", 1, "TIME"),
    ("unwatch", 1, "UNWATCH"),
    ("watch", -2, "WATCH"),
];

/// What `COMMAND` tells: the names and how many strings each has; nothing where a client asks for documentation.
fn commands_told(subcommand: &[u8]) -> Result<RespReply, RespRefusal> {
    let on_keys = COMMANDS.iter().map(|command| (command.name, command.arity));
    let all = on_keys.chain(SESSION_COMMANDS.iter().map(|command| (command.0, command.1)));
    match &subcommand.to_ascii_uppercase()[..] {
        b"COUNT" => Ok(RespReply::Integer(all.count() as i64)),
        b"DOCS" => Ok(RespReply::Map(Vec::new())),
        b"LIST" => Ok(RespReply::Array(all.map(|(name, _)| RespReply::bulk(name)).collect())),
        b"" | b"INFO" => {
            let told = all.map(|(name, arity)| {
                RespReply::Array(vec![RespReply::bulk(name), RespReply::Integer(arity.into())])
            });
            Ok(RespReply::Array(told.collect()))
        }
        other => Err(RespRefusal::Subcommand(
            "COMMAND",
            String::from_utf8_lossy(other).into_owned(),
            "COUNT, DOCS, INFO and LIST",
        )),
    }
}

#[cfg(test)]
mod tests {
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
        let service = Service::new(db, users, LogMode::LogOnly, Budget::new(64 << 20, 1 << 15));
        let (mut client, stream) = duplex(1 << 16);
        let session = RespSession::new(service.expect("its terms can be kept"), 1, stream, None);
        let talk = async move {
            // The limit lets four of the dearest commands go at once, up to the next power of two.
            let watch = format!("WATCH {}\r\n", "k ".repeat(50));
            for (asked, answers, least) in
                [(&watch[..], 20, 20 * 50 - 4 * 64), ("SAVE\r\n", 100, 92)]
            {
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
}
