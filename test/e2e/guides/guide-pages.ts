/** The pages of guides as what one does at a terminal with them: commands, files, and what is shown then. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { BIN, cloneInto, ROOT, type Running, run, temporaryFolder } from '../../support/leasehold.ts';

/** What a loaded host may take until a look shows what the page says. */
const PATIENCE_MS = 60_000;

/** A fenced block: its language, the word behind that, and its text. */
export interface Block {
  readonly kind: string;
  readonly where: string;
  readonly text: string;
}

/** Every block of a page; `replaced` says what stands in the test where the page has something else, such as a port. */
export function blocksOf(page: string, replaced: Readonly<Record<string, string>> = {}): readonly Block[] {
  let text = readFileSync(join(ROOT, 'docs/guides', page), 'utf8');
  for (const [written, real] of Object.entries(replaced)) text = text.replaceAll(written, real);
  const blocks = [...text.matchAll(/^```(\w+)(?: ([\w.-]+))?\n(.*?)^```$/gms)].map(
    ([, kind, where = '', inner]): Block => ({ kind: kind as string, where, text: inner as string }),
  );
  assert.equal(blocks.length * 2, text.match(/^```/gm)?.length, 'every block of the page is known');
  return blocks;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** A folder like a clone after `npm ci`, and the terminals in it. What is set in one block is there in the next. */
export class Clone {
  readonly cwd: string;
  readonly #t: TestContext;
  readonly #env: Readonly<Record<string, string>>;

  constructor(t: TestContext, env: Readonly<Record<string, string>> = {}) {
    this.#t = t;
    this.#env = env;
    this.cwd = temporaryFolder(t);
    cloneInto(this.cwd);
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.cwd, file), text);
  }

  /** In a terminal of its own; it may go on for ever. */
  start(text: string, env: Readonly<Record<string, string>> = {}): Running {
    const node = `'${process.execPath}'`;
    // The last command takes the place of the shell, as far as signals go: npx hands them on.
    const npx = `npx() { [ "$1" = node ] && { shift; ${node} "$@"; return; }; shift; ${node} '${BIN}' "$@"; }`;
    const script = `[ -e .variables ] && . ./.variables\nset -e\n${npx}\nset -a\n${text}\nset +a\nexport -p >.variables\n`;
    return run(this.#t, ['-c', script], {
      cwd: this.cwd,
      command: 'sh',
      group: true,
      env: { ...this.#env, ...env },
    });
  }

  /** To its end, which must be a good one; the answer is what it printed. */
  async say(text: string): Promise<string> {
    const shell = this.start(text);
    const { code } = await shell.ended;
    assert.equal(code, 0, `${text}\n${shell.stdout}${shell.stderr}`);
    return shell.stdout;
  }

  /** Says it again until what is shown is so. */
  async look(text: string, isSo: (shown: string) => boolean): Promise<string> {
    for (const deadline = performance.now() + PATIENCE_MS; ; ) {
      const shown = await this.say(text);
      if (isSo(shown)) return shown;
      assert.ok(performance.now() < deadline, `${text}shows\n${shown}`);
    }
  }
}

/** Ctrl-C: the terminal sends it to all that run in it. */
export async function interrupt({ child, ended }: Running): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), 'SIGINT');
  await ended;
}

/** What "…" stands for is given; everything else is as it stands. */
export function patternOf(text: string, anything: string): string {
  return text
    .split('…')
    .map((part) => RegExp.escape(part))
    .join(anything);
}

/** Whether lines are those of the page: "…" stands for anything within a line, a line of it alone for any lines. */
export function linesAgree(shown: string, wanted: string): boolean {
  const lines = wanted.split('\n').filter((line) => line.trim() !== '');
  const source = lines.map((line) => (line.trim() === '…' ? '(?:.*\n)*?' : `${patternOf(line, '[^"]*?')}\n`));
  const text = shown.split('\n').filter((line) => line.trim() !== '');
  return new RegExp(`^${source.join('')}$`).test(text.map((line) => `${line}\n`).join(''));
}

/** What a page shows of an answer must be in it. Of a list each must be in it, in this order. "…" in a text stands for anything. */
export function jsonHas(shown: unknown, wanted: unknown): boolean {
  if (typeof wanted === 'string')
    return typeof shown === 'string' && new RegExp(`^${patternOf(wanted, '.*')}$`).test(shown);
  if (typeof wanted !== 'object' || wanted === null) return shown === wanted;
  if (typeof shown !== 'object' || shown === null) return false;
  if (Array.isArray(wanted)) {
    if (!Array.isArray(shown) || (wanted.length === 0 && shown.length > 0)) return false;
    let from = 0;
    return wanted.every((one) => {
      const at = shown.findIndex((other, i) => i >= from && jsonHas(other, one));
      from = at + 1;
      return at !== -1;
    });
  }
  return Object.entries(wanted).every(([name, value]) => jsonHas((shown as Record<string, unknown>)[name], value));
}

/** Whether what was printed is what a block shows. */
export function shows(block: Block, shown: string): boolean {
  if (block.kind === 'text') return linesAgree(shown, block.text);
  try {
    return jsonHas(JSON.parse(shown), JSON.parse(block.text));
  } catch {
    return false;
  }
}
