import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { noOpenssl } from '../support/certificate.ts';
import { BIN, ROOT, type Running, run, temporaryFolder } from '../support/leasehold.ts';
import { noSecondMachine, type SecondMachine, secondMachine } from '../support/second-machine.ts';

const PAGE = join(ROOT, 'docs/guides/add-a-machine.md');
/** Gives a command a terminal; it comes with Linux. */
const TERMINAL = 'script';
/** The address and the code that stand on the page. */
const WRITTEN = '192.168.1.10';
/** `npm` and `npx` as in a clone after `npm ci`, and `sudo` for who is root already. */
const TOOLS = `set -e
npx() { shift; '${process.execPath}' '${BIN}' "$@"; }
npm() { shift 2; exec '${process.execPath}' '${BIN}' up "$@"; }
sudo() { "$@"; }
`;

/** What is set in one block is there in the next, as in a terminal. */
const scriptOf = (text: string): string =>
  `[ -e .variables ] && . ./.variables\n${TOOLS}set -a\n${text}\nexport -p >.variables\n`;

interface Block {
  readonly kind: 'sh' | 'text';
  readonly where: string;
  readonly text: string;
}

function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^\`\`\`(sh|text) ([\w-]+)\n(.*?)^\`\`\`$/gms)].map(([, kind, where, text]) => ({
    kind: kind as Block['kind'],
    where: where as string,
    text: text as string,
  }));
}

/** Words in the order of the page, whatever stands between them; what differs from run to run stands for itself. */
function pattern(line: string, address: string): RegExp {
  const words = line.trim().replaceAll(WRITTEN, address).split(/\s+/);
  const masked = words.map((word) =>
    /^(task_|lh_code_)/.test(word)
      ? `${/^(task_|lh_code_)/.exec(word)?.[0]}\\S+`
      : /^\d+$/.test(word) && words.at(-1) === 'ms'
        ? '[\\d,]+'
        : RegExp.escape(word),
  );
  return new RegExp(masked.join('\\s+(?:\\S+\\s+)*?'));
}

/** Both machines, and who sits at them. */
class Walk {
  readonly #t: TestContext;
  readonly #one: string;
  readonly #two: string;
  readonly #second: SecondMachine;
  readonly #long = new Map<string, Running>();
  #code = '';
  /** What commands on machine one have printed since the last text of the page. */
  #unread = '';
  #last: Block | undefined;

  constructor(t: TestContext) {
    this.#t = t;
    this.#one = temporaryFolder(t);
    this.#two = temporaryFolder(t);
    this.#second = secondMachine(t);
  }

  async step(block: Block): Promise<void> {
    if (block.kind === 'text') await this.#compare(block);
    else await this.#run(block);
  }

  async #run(block: Block): Promise<void> {
    const text = this.#typed(block.text);
    switch (block.where) {
      case 'one':
        this.#last = block;
        this.#unread = await this.#say(text);
        return;
      case 'node':
        this.#long.set('node', this.#start(this.#one, text));
        return;
      case 'copy':
        copyFileSync(join(this.#one, 'cert.pem'), join(this.#two, 'cert.pem'));
        return;
      case 'worker':
        this.#long.set('worker', this.#start(this.#two, text, this.#second.wrapper));
        return;
      case 'unplug':
      case 'plug': {
        const done = this.#start(this.#two, text, this.#second.wrapper);
        assert.equal((await done.ended).code, 0, done.stderr);
        return;
      }
      case 'end':
        await this.#stopNode();
        await this.#say(text);
        return;
      default:
        assert.fail(`nobody is at ${block.where}`);
    }
  }

  /** The address and the code of this run, where those of the page stand. */
  #typed(text: string): string {
    return text.replaceAll(WRITTEN, this.#second.address).replaceAll(/lh_code_\w+/g, this.#code);
  }

  #start(cwd: string, text: string, wrapper: readonly string[] = []): Running {
    const [command = 'sh', ...before] = [...wrapper, 'sh'];
    return run(this.#t, [...before, '-c', scriptOf(text)], { cwd, command, group: true });
  }

  /** As somebody who sits at a terminal sees it. */
  async #say(text: string): Promise<string> {
    const line = `stty cols 140 rows 40 -echo 2>/dev/null\n${scriptOf(text)}`;
    const env = { SHELL: '/bin/sh', TERM: 'xterm', NO_COLOR: '1' };
    const shell = run(this.#t, ['-qefc', line, '/dev/null'], { cwd: this.#one, command: TERMINAL, env });
    assert.equal((await shell.ended).code, 0, `${text}\n${shell.stdout}${shell.stderr}`);
    const shown = stripVTControlCharacters(shell.stdout).replaceAll('\r', '');
    if (process.env['SHOW']) console.log(`$ ${text}${shown}`);
    return shown;
  }

  async #compare({ where, text }: Block): Promise<void> {
    const lines = text.trimEnd().split('\n');
    if (where === 'one') return this.#compareHere(lines);
    const running = this.#long.get(where.replace('-ends', '')) as Running;
    if (where === 'worker-ends') {
      assert.equal((await running.ended).code, 4, running.stderr);
      for (const line of lines) assert.match(running.stderr, pattern(line, this.#second.address));
      return;
    }
    for (const line of lines) await running.says(pattern(line, this.#second.address));
  }

  /** A block that only looks may look again until it sees what the page shows. */
  async #compareHere(lines: readonly string[]): Promise<void> {
    const looks =
      /^npx leasehold (tasks show|workers list) \S*$/m.test(this.#last?.text.trim() ?? '') ||
      /tasks show/.test(this.#last?.text ?? '');
    const wanted = new RegExp(lines.map((line) => pattern(line, this.#second.address).source).join('[^]*?'));
    const look = this.#last?.text.trimEnd().split('\n').at(-1) ?? '';
    while (!wanted.test(this.#unread)) {
      assert.ok(looks, `${this.#last?.text}shows\n${this.#unread}\nand not\n${lines.join('\n')}`);
      this.#unread = await this.#say(this.#typed(look));
    }
    this.#code = /lh_code_[\w-]+/.exec(this.#unread)?.[0] ?? this.#code;
  }

  async #stopNode(): Promise<void> {
    const node = this.#long.get('node') as Running;
    node.child.kill('SIGINT');
    assert.deepEqual(await node.ended, { code: 0, signal: null }, node.stderr);
    assert.match(node.stdout, /Stopped after/);
  }

  /** Nothing of it is left. */
  tidy(): void {
    for (const trace of ['.leasehold', 'cert.pem', 'key.pem']) assert.ok(!existsSync(join(this.#one, trace)), trace);
  }
}

test('a machine is added as the guide says, word by word, over a network of its own', {
  skip: noOpenssl() || noSecondMachine(),
  timeout: 600_000,
}, async (t) => {
  const blocks = blocksOf(readFileSync(PAGE, 'utf8'));
  assert.equal(
    blocks.length,
    (readFileSync(PAGE, 'utf8').match(/^\`\`\`/gm) ?? []).length / 2,
    'every block of the page is one that is run or compared',
  );
  const walk = new Walk(t);
  for (const block of blocks) await walk.step(block);
  walk.tidy();
});
