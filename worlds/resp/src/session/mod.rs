//! One connection: its requests in their order, several of them on their way where that makes no difference.

mod choices;
mod login;
mod pipeline;
mod table;
mod transaction;

use crate::budget::{ConnectionMemory, FREE_BYTES, HeldBytes};
use crate::commands::{KeyCommand, has_arity};
use crate::info;
use crate::keys::ANSWER_BYTES_MAX;
use crate::needs;
use crate::outgoing::Outgoing;
use crate::refusal::RespRefusal;
use crate::scan::{self, KeyWalker};
use crate::service::{CommandTerms, DATABASES, Queued, Service, count, told};
use crate::strangers::Stranger;
use crate::users::DEFAULT_USER;
use choices::ClientChoices;
use loadline_kv::now_ms;
use loadline_wire::resp::{RespLimits, RespReader, RespReply, RespRequest, RespVersion};
use login::Login;
use pipeline::{Pipeline, RespAnswer};
use std::fmt::Display;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use table::{SESSION_COMMANDS, commands_told};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use transaction::{RespTransaction, ToldTransaction};

/// What a connection may make the server keep of a request, which may have as many strings as the original's.
const LIMITS: RespLimits =
    RespLimits { string_bytes: 8 << 20, request_bytes: 8 << 20, strings: 1 << 20 };
/// How long a request that is not whole, or a transaction that is not ended, may keep what others wait for while nothing comes.
const STANDSTILL: Duration = Duration::from_secs(10);
/// How long a request that has taken memory before it is whole may take to become so, while others wait.
const WHOLE: Duration = Duration::from_secs(30);
/// When it is looked again whether others wait.
const LOOK: Duration = Duration::from_secs(1);

/// See [above](self).
pub(crate) struct RespSession<S> {
    service: Rc<Service>,
    login: Login,
    choices: ClientChoices,
    memory: Rc<ConnectionMemory>,
    /// What the request that is not whole has taken, and when.
    coming: Option<(HeldBytes, Instant)>,
    transaction: RespTransaction,
    pipeline: Pipeline,
    out: Outgoing<S>,
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
        if self.login.is_nobody() && is_long {
            // Who is nobody has nothing to say that is so long.
            self.put(&RespRefusal::NoAuth.into());
            self.out.send().await?;
            return Ok(Next::Close);
        }
        let what = || {
            let name = coming.name.unwrap_or(b"it").to_ascii_uppercase();
            of_strings(name.escape_ascii(), coming.strings)
        };
        if let Err(refusal) = self.memory.could_have(known, what) {
            self.coming = None;
            self.transaction.break_off();
            reader.skip();
            self.put(&refusal.into());
            self.out.send().await?;
        } else if is_long && self.coming.is_none() {
            match self.memory.take(most.min(self.memory.budget().largest())).await {
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
        let over = [idle_until, self.login.until()].into_iter().flatten().min();
        // Whether others need what it keeps is known when they come, which may be later.
        let keeps_much = reader.unread() > 0 || self.memory.kept() > FREE_BYTES;
        let whole_by = self.coming.as_ref().map(|(_, since)| *since + WHOLE);
        let service = Rc::clone(&self.service);
        let mut look_at = began + STANDSTILL;
        loop {
            let now = Instant::now();
            let is_over = over.is_some_and(|over| now >= over);
            let is_still = now >= began + STANDSTILL || whole_by.is_some_and(|by| now >= by);
            if is_over || (keeps_much && is_still && self.memory.is_wanted()) {
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
        while let Some(answer) = self.pipeline.next().await {
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
        if self.memory.is_wanted() {
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
                self.transaction.break_off();
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
        mut coming: Option<HeldBytes>,
    ) -> io::Result<()> {
        let flow = match self.login.flow() {
            Ok(flow) => flow,
            Err(refusal) => {
                self.answer(refusal.into());
                return Ok(());
            }
        };
        if let Some(multi) = self.transaction.multi() {
            drop(coming);
            let reply = multi.add(command, request, &self.memory);
            self.answer(reply);
            return Ok(());
        }
        let writes = command.writes();
        // Nobody waits for a client while its command has its turn: others wait for that.
        if !self.pipeline.lets_follow(writes) {
            self.settle().await?;
        }
        let (database, in_line) = (self.choices.database(), self.pipeline.keeps_order(writes));
        let need = needs::of_request(command, &request);
        // What is only read is found out to be longer, and an update cannot be carried out twice.
        let each =
            if in_line { self.service.value_bytes as usize } else { self.service.usual.get() };
        let room = command.longest(&request, in_line, each as u64);
        coming.iter_mut().for_each(|held| held.set(need));
        let mut held = coming.unwrap_or_else(|| self.memory.note(0));
        if held.room() >= need + room {
            let passed = self.service.gate.pass(flow, command.cost(&request)).await;
            // Taken behind the wait for a turn, which others would wait with.
            if held.try_set(need + room) {
                let service = Rc::clone(&self.service);
                let terms = CommandTerms { database, in_line, room, each, lane: 0 };
                let begun = service.begin(terms, command, request);
                self.pipeline.go_on_without_me(async move {
                    let ended = service.end((terms, &mut held), command, begun).await;
                    drop(passed);
                    RespAnswer::ended(command, ended, held)
                });
                return Ok(());
            }
        }
        self.alone(command, request, Some(held).filter(|held| held.bytes() > 0)).await
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
        match self.with_what_there_is(command, request, held).await {
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
        held: Option<HeldBytes>,
    ) -> Result<(RespReply, HeldBytes), RespRefusal> {
        let held = match held {
            Some(held) => held,
            None => {
                let need = needs::of_request(command, &request);
                let name = command.name.to_uppercase();
                self.memory.could_have(need, || of_strings(&name, request.len()))?;
                self.memory.take(need).await?
            }
        };
        let (database, in_line) = (self.choices.database(), command.writes());
        let longest = command.longest(&request, in_line, self.service.value_bytes);
        let (mut answer, mut least) = (self.memory.note(0), 0);
        loop {
            // What all users share is taken behind the turn: who waits for one, under a limit of its own, would keep it from all of them. Nor is it waited for with a turn.
            let passed = self.login.turn(command.cost(&request)).await?;
            if !answer.try_set(least) {
                drop(passed);
                answer = self.memory.take(least).await?;
                continue;
            }
            let value = self.memory.budget().value().await;
            let room = longest.min(answer.room()).max(least);
            answer.set(room);
            let (each, lane) = (usize::MAX, self.service.value_bytes);
            let terms = CommandTerms { database, in_line, room, each, lane };
            let begun = self.service.begin(terms, command, request.clone());
            let ended = self.service.end((terms, &mut answer), command, begun).await;
            drop((passed, value));
            match ended.answer {
                Err(RespRefusal::Room) if room < self.most_answered(&held) => {
                    answer.set(0);
                    least = self.most_answered(&held);
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
        let login = Login::new(&service, &memory, (number, stranger));
        RespSession {
            service,
            login,
            choices: ClientChoices::none(),
            memory,
            coming: None,
            transaction: RespTransaction::default(),
            pipeline: Pipeline::default(),
            out,
        }
    }

    /// Puts an answer down behind those that are on their way.
    fn answer(&mut self, reply: RespReply) {
        match self.pipeline.is_empty() {
            true => self.put(&reply),
            false => self.pipeline.answer(reply),
        }
    }

    fn put(&mut self, reply: &RespReply) {
        if matches!(reply, RespReply::Error(_)) {
            count(&self.service.counts.errors);
        }
        self.out.put(reply, self.choices.version());
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
        if self.login.is_nobody() && !is_open {
            return Err(RespRefusal::NoAuth);
        }
        let reply = match self.transaction.is_begun() {
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
                self.transaction.discard();
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
            "multi" => self.transaction.begin(&self.memory),
            "exec" => return Err(RespRefusal::NoMulti("EXEC")),
            "discard" => return Err(RespRefusal::NoMulti("DISCARD")),
            "watch" => {
                let service = Rc::clone(&self.service);
                let keys = u32::try_from(request.len() - 1).unwrap_or(u32::MAX);
                let _passed = self.login.turn(keys).await?;
                let database = self.choices.database();
                let place = (database, service.keyspace(database));
                for key in request.iter().skip(1) {
                    self.transaction.watch(&service.db, &self.memory, place, key).await?;
                }
            }
            "unwatch" => self.transaction.unwatch(),
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
                self.login.log_in(name, word)?;
            }
            "hello" => return self.hello(request),
            "reset" => return Ok(self.reset()),
            "select" => self.choices.select(string(1))?,
            "client" => return self.client(request),
            "command" => return commands_told(string(1)),
            "config" => return info::config(&self.service, self.login.user()?, request),
            "info" => return info::info(&self.service, request).await,
            "time" => {
                let now = now_ms();
                let micros = (now % 1000) * 1000;
                let parts = [now / 1000, micros].map(|part| RespReply::bulk(part.to_string()));
                return Ok(RespReply::Array(parts.to_vec()));
            }
            "save" | "bgsave" => {
                let _passed = self.login.turn(1).await?;
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
        let (flow, chosen) = (self.login.flow()?, self.choices.database());
        let (service, memory) = (&*self.service, &self.memory);
        let walker = KeyWalker { service, memory, flow, database: chosen };
        match name {
            "scan" => scan::scan(walker, request).await,
            "keys" => scan::keys(walker, request.get(1).unwrap_or_default()).await,
            "dbsize" => scan::size(walker).await,
            "flushdb" | "flushall" => {
                let databases = match name {
                    "flushdb" => chosen..chosen + 1,
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
        let ToldTransaction { commands, watch, held } = self.transaction.end()?;
        let (service, database) = (&self.service, self.choices.database());
        let is_update = !watch.is_empty() || commands.iter().any(|(command, _)| command.writes());
        let of =
            |(command, request): &Queued| command.longest(request, is_update, service.value_bytes);
        let longest = commands.iter().map(of).sum::<u64>().min(2 * ANSWER_BYTES_MAX as u64);
        let costs = commands.iter().map(|(command, request)| command.cost(request));
        let cost = costs.fold(0, u32::saturating_add).max(1);
        let passed = self.login.turn(cost).await?;
        // It waits for none with what it keeps: others would wait for that.
        let room = longest.min(self.memory.room());
        let answer = self.memory.note(room);
        let (value, lane) = match room < longest {
            true => (Some(service.budget.value().await), service.value_bytes),
            false => (None, 0),
        };
        let terms = CommandTerms { database, in_line: is_update, room, each: usize::MAX, lane };
        let done = match is_update {
            true => service.change(terms, commands, watch).await,
            false => service.look(terms, &commands).await.map(Some),
        };
        drop((passed, value, answer, held));
        Ok(done?.map_or(RespReply::NullArray, RespReply::Array))
    }

    fn reset(&mut self) -> RespReply {
        self.transaction.discard();
        self.choices = ClientChoices::none();
        self.login.reset();
        RespReply::Simple("RESET")
    }

    /// `HELLO [version [AUTH user password] [SETNAME name]]`.
    fn hello(&mut self, request: &RespRequest) -> Result<RespReply, RespRefusal> {
        let mut strings = request.iter().skip(1);
        let version = match strings.next() {
            None => self.choices.version(),
            Some(b"2") => RespVersion::Two,
            Some(b"3") => RespVersion::Three,
            Some(_) => return Err(RespRefusal::NoProto),
        };
        let mut name = None;
        while let Some(option) = strings.next() {
            match &option.to_ascii_uppercase()[..] {
                b"AUTH" => {
                    let user = strings.next().ok_or(RespRefusal::Syntax)?;
                    self.login.log_in(user, strings.next().ok_or(RespRefusal::Syntax)?)?;
                }
                b"SETNAME" => name = Some(strings.next().ok_or(RespRefusal::Syntax)?),
                _ => return Err(RespRefusal::Syntax),
            }
        }
        if self.login.is_nobody() {
            return Err(RespRefusal::NoAuth);
        }
        if let Some(name) = name {
            self.choices.set_name(name)?;
        }
        self.choices.set_version(version);
        let text = |key: &str, value: &str| (RespReply::bulk(key), RespReply::bulk(value));
        let number = |key: &str, value| (RespReply::bulk(key), RespReply::Integer(value));
        Ok(RespReply::Map(vec![
            text("server", "loadline"),
            text("version", info::SPOKEN_VERSION),
            number("proto", self.choices.version_number().into()),
            number("id", self.login.number() as i64),
            text("mode", "standalone"),
            text("role", "master"),
            (RespReply::bulk("modules"), RespReply::Array(Vec::new())),
        ]))
    }

    fn client(&mut self, request: &RespRequest) -> Result<RespReply, RespRefusal> {
        let subcommand = request.get(1).unwrap_or_default().to_ascii_lowercase();
        match (&subcommand[..], request.get(2)) {
            (b"setname", Some(name)) => {
                self.choices.set_name(name)?;
                Ok(RespReply::OK)
            }
            (b"getname", None) => Ok(RespReply::bulk(self.choices.name())),
            (b"id", None) => Ok(RespReply::Integer(self.login.number() as i64)),
            // Names and versions of libraries are taken and not kept.
            (b"setinfo", Some(_)) => Ok(RespReply::OK),
            (b"info", None) => Ok(RespReply::Verbatim(format!(
                "id={} name={} db={} user={} resp={}\n",
                self.login.number(),
                String::from_utf8_lossy(self.choices.name()),
                self.choices.database(),
                self.login.user_name(),
                self.choices.version_number(),
            ))),
            _ => Err(RespRefusal::Subcommand(
                "CLIENT",
                String::from_utf8_lossy(&subcommand).into_owned(),
                "SETNAME, GETNAME, ID, INFO and SETINFO",
            )),
        }
    }
}

/// A request as a refusal names it.
fn of_strings(name: impl Display, strings: usize) -> String {
    format!("{name} with {strings} strings")
}

#[cfg(test)]
mod tests;
