import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { cloneInto, ROOT, Running, temporaryFolder } from '../../support/leasehold.ts';

const GUIDE = join(ROOT, 'docs/guides/first-five-minutes.md');
const LIMITS = join(ROOT, 'docs/guides/limits-and-placement.md');
const README = join(ROOT, 'README.md');
/** Gives a command a terminal; it comes with Linux and macOS. */
const TERMINAL = 'script';
/** What a loaded host may take for one command, its repetitions included. */
const PATIENCE_MS = 20_000;

/** A fenced block: commands of a terminal, or what that terminal shows then. */
interface Block {
  readonly kind: 'sh' | 'text';
  readonly where: string;
  readonly text: string;
}

interface Step {
  readonly where: string;
  readonly commands: string;
  readonly shows: string | undefined;
}

function stepsOf(page: string): readonly Step[] {
  const blocks = [...page.matchAll(/^```(sh|text)(?: ([\w-]+))?\n(.*?)^```$/gms)].map(
    ([, kind, where = 'terminal-2', text]): Block => ({ kind: kind as Block['kind'], where, text: text as string }),
  );
  return blocks.flatMap(({ kind, where, text }, i) => {
    const before = blocks[i - 1];
    // What a terminal shows without a new command in it is a step too.
    if (kind === 'text')
      return before?.kind === 'sh' && before.where === where ? [] : [{ where, commands: '', shows: text }];
    const after = blocks[i + 1];
    const shows = after?.kind === 'text' && after.where === where ? after.text : undefined;
    return [{ where, commands: text, shows }];
  });
}

interface Clone {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A fresh clone after `npm ci`, and `npm` and `npx` that cost no second each. */
function freshClone(t: TestContext): Clone {
  const cwd = temporaryFolder(t);
  cloneInto(cwd);
  for (const part of ['examples', 'machines']) cpSync(join(ROOT, part), join(cwd, part), { recursive: true });
  const tools = join(cwd, '.tools');
  mkdirSync(tools);
  const tool = (name: string, lines: string): void =>
    writeFileSync(join(tools, name), `#!/bin/sh\n${lines}\necho "${name} $*: not in the test" >&2\nexit 64\n`, {
      mode: 0o755,
    });
  const node = `exec '${process.execPath}'`;
  tool(
    'npm',
    `[ "$1" = ci ] && exit 0\n[ "$1" = start ] && { shift; [ "$1" = -- ] && shift; ${node} bin/leasehold.js up "$@"; }`,
  );
  tool(
    'npx',
    `[ "$1" = leasehold ] && { shift; ${node} bin/leasehold.js "$@"; }\n[ "$1" = node ] && { shift; ${node} "$@"; }`,
  );
  const ours = ([name]: [string, unknown]): boolean =>
    !/^(LEASEHOLD|APFLOW)_|^(NODE_OPTIONS|NODE_TEST_CONTEXT|FORCE_COLOR)$/.test(name);
  const env = Object.fromEntries(Object.entries(process.env).filter(ours));
  return { cwd, env: { ...env, PATH: `${tools}:${env.PATH}`, TERM: 'xterm', NO_COLOR: '1', LEASEHOLD_PORT: '0' } };
}

/** Runs commands as somebody does who sits at a terminal. */
function type(t: TestContext, commands: string, { cwd, env }: Clone): Running {
  // As in a shell at a prompt, Ctrl-C ends the command and not the shell.
  const script = `stty cols 140 rows 40 -echo 2>/dev/null\ntrap : INT\n${commands}`;
  const args = process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', script] : ['-qefc', script, '/dev/null'];
  const child = spawn(TERMINAL, args, { cwd, env: { ...env, SHELL: '/bin/sh' } });
  child.stdin.on('error', () => {});
  t.after(() => child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'));
  return new Running(child);
}

/** What differs from run to run takes one form. */
function masked(text: string): readonly string[] {
  return stripVTControlCharacters(text)
    .replaceAll('\r', '')
    .replaceAll(/task_[\da-f-]{36}/g, 'ID')
    .replaceAll(/\d\d:\d\d:\d\d\.\d{3}/g, 'TIME')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'DATE')
    .replaceAll(/\(in \d+m( \d+s)?\)/g, '(in TOOK)')
    .replaceAll(/(in|took) \d[\d.]* ?m?s\b/g, '$1 TOOK')
    .replaceAll(/"durationMs":\d+/g, '"durationMs":TOOK')
    .replaceAll(/\bnow\b|\d+s ago/g, 'AGO')
    .replaceAll(/ [\w.-]+-\d+$/gm, ' WORKER')
    .replaceAll(/AGO +[\w.-]+$/gm, 'AGO WORKER')
    .split('\n')
    .map((line) => line.replaceAll(/ +/g, ' ').trim())
    .filter((line) => line !== '');
}

/** Whether these are the lines of the page; one that is "…" stands for any number of lines. */
function agrees(shown: string, wanted: string): boolean {
  const lines = masked(shown);
  const parts: string[][] = [[]];
  for (const line of masked(wanted)) {
    if (line === '…') parts.push([]);
    else parts.at(-1)?.push(line);
  }
  let from = 0;
  for (const [i, part] of parts.entries()) {
    const last = lines.length - part.length;
    // Without "…" before it, a part begins where the one before has ended; the last one ends with the output.
    const places =
      i === 0
        ? [0]
        : i === parts.length - 1
          ? [last]
          : Array.from({ length: Math.max(0, last - from + 1) }, (_, n) => from + n);
    const place = places.find((at) => at >= from && at <= last && part.every((line, n) => lines[at + n] === line));
    if (place === undefined) return false;
    from = place + part.length;
  }
  return parts.length > 1 || from === lines.length;
}

/** Commands that only look may look again until they see what the page shows. */
const LOOKS = /^npx leasehold (tasks (list|show|explain|logs)|queues list|workers list|limits (list|show)|tags)\b/;

/** The terminal in which a node runs. */
class FirstTerminal {
  readonly #t: TestContext;
  readonly #clone: Clone;
  #running: Running | undefined;
  /** Lines of its output that were read. */
  #read = 0;

  constructor(t: TestContext, clone: Clone) {
    this.#t = t;
    this.#clone = clone;
  }

  async run(commands: string): Promise<void> {
    await this.stop();
    this.#running = type(this.#t, commands, this.#clone);
    this.#read = 0;
  }

  /** Ctrl-C, which stops in order; who was killed has ended already. */
  async stop(): Promise<void> {
    const terminal = this.#running;
    if (terminal === undefined) return;
    terminal.child.stdin.write('\u0003');
    const { code } = await terminal.ended;
    assert.ok(code === 137 || (code === 0 && terminal.stdout.includes('Stopped after')), `${code} ${terminal.stdout}`);
    this.#running = undefined;
  }

  async shows(lines: string): Promise<void> {
    const terminal = this.#running;
    assert.ok(terminal);
    const signal = AbortSignal.timeout(PATIENCE_MS);
    for (const line of masked(lines)) {
      for (let found = -1; found === -1; ) {
        found = masked(terminal.stdout).indexOf(line, this.#read);
        if (found !== -1) this.#read = found + 1;
        else {
          await once(terminal.child.stdout, 'data', { signal }).catch(() => {
            assert.fail(`the first terminal does not show "${line}":\n${terminal.stdout}`);
          });
        }
      }
    }
  }
}

/** Runs the commands of a step to their end, and compares what they print. */
async function runSecond(t: TestContext, clone: Clone, { commands, shows }: Step): Promise<void> {
  const say = async (text: string): Promise<string> => {
    const terminal = type(t, text, clone);
    terminal.child.stdin.end();
    const { code } = await terminal.ended;
    assert.equal(code, 0, `${text}\n${terminal.stdout}`);
    return terminal.stdout;
  };
  const lines = commands.trimEnd().split('\n');
  const looking = LOOKS.test(lines.at(-1) ?? '') ? lines.pop() : undefined;
  const done = lines.length === 0 ? '' : await say(lines.join('\n'));
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const shown = done + (looking === undefined ? '' : await say(looking));
    // A look of which the page does not say what it shows has to show something: a head, and a line.
    if (shows === undefined ? looking === undefined || masked(shown).length > 1 : agrees(shown, shows)) return;
    const again = looking !== undefined && performance.now() < deadline;
    assert.ok(again, `${commands}shows\n${shown}\nand not\n${shows}`);
  }
}

/** Runs a page from its first command to its last, and looks that nothing of it is left. */
async function walk(t: TestContext, page: string): Promise<void> {
  const clone = freshClone(t);
  const first = new FirstTerminal(t, clone);
  for (const step of stepsOf(readFileSync(page, 'utf8'))) {
    if (step.where === 'terminal-1') {
      if (step.commands !== '') await first.run(step.commands);
      await first.shows(step.shows ?? '');
    } else {
      if (step.where === 'end') await first.stop();
      await runSecond(t, clone, step);
    }
  }
  for (const trace of ['.leasehold', 'tasks', 'work.db']) assert.ok(!existsSync(join(clone.cwd, trace)), trace);
}

test('the first five minutes go as the guide says, command by command', { skip: noTerminal() }, (t) => walk(t, GUIDE));

test('limits and placement go as the guide says, command by command', { skip: noTerminal() }, (t) => walk(t, LIMITS));

test('the commands of the README work beside a node', { skip: noTerminal() }, async (t) => {
  const clone = freshClone(t);
  const first = new FirstTerminal(t, clone);
  await first.run('npm ci && npm start');
  const commands = readFileSync(README, 'utf8').match(/^npx leasehold .*\n/gm) ?? [];
  assert.equal(commands.length, 9);
  for (const line of commands) await runSecond(t, clone, { where: 'terminal-2', commands: line, shows: undefined });
  await first.stop();
});

function noTerminal(): string | false {
  const found = (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, TERMINAL)));
  return found ? false : 'there is no script(1)';
}
