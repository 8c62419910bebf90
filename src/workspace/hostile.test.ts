import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gitServer } from '../../test/support/git/git-server.ts';
import { commit, git, scratchRepository, TIMERS, writeFiles } from '../../test/support/git/scratch.ts';
import type { WorkspaceSpec } from '../core/workspace/workspace.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { Git } from './git/git-command.ts';
import { type ResolverOptions, WorkspaceResolver } from './resolver.ts';

const temp = realpathSync(tempFolder('hostile'));
const server = await gitServer(join(temp, 'server'));
let number = 0;

function worker(options: Partial<ResolverOptions> = {}): WorkspaceResolver {
  number += 1;
  const folder = join(temp, `worker${number}`);
  return new WorkspaceResolver({
    folder,
    roots: new Map(),
    protocols: ['http'],
    clock: { wall: () => Date.now() },
    timers: TIMERS,
    ...options,
  });
}

function source(files?: Readonly<Record<string, string>>): string {
  number += 1;
  return scratchRepository(join(temp, `source${number}`), files);
}

const publish = (folder: string): string => server.publish(`r${(number += 1)}`, folder);
const prepare = (spec: WorkspaceSpec, options?: Partial<ResolverOptions>) =>
  worker(options).prepare(spec, { task: 't', attempt: 1 });

/** Makes a tree that no honest git would make, and commits it. */
function plant(folder: string, entries: ReadonlyArray<readonly [mode: string, name: string, text: string]>): void {
  const lines = entries.map(([mode, name, text]) => {
    const file = join(temp, 'planted');
    writeFileSync(file, text);
    return mode === '160000'
      ? `160000 commit ${text}\t${name}`
      : `${mode} blob ${git(folder, 'hash-object', '-w', '--no-filters', '--', file)}\t${name}`;
  });
  writeFileSync(join(temp, 'lines'), `${lines.join('\n')}\n`);
  const tree = git(
    folder,
    '-c',
    'alias.t=!git mktree --missing <"$1"',
    '-c',
    'core.protectNTFS=false',
    't',
    join(temp, 'lines'),
  ).trim();
  git(folder, 'update-ref', 'refs/heads/main', git(folder, 'commit-tree', tree, '-m', 'Planted'));
}

/** A git that tells that it was started. */
const fake = join(temp, 'bin');
const started = join(temp, 'started');
mkdirSync(fake);
writeFileSync(join(fake, 'git'), `#!/bin/sh\n: >${started}\n`);
chmodSync(join(fake, 'git'), 0o755);

const ADDRESSES = [
  'ext::sh -c "id >/tmp/x"',
  'EXT::sh',
  'fd::17',
  'file:///etc',
  'FILE:///etc/x',
  '/etc',
  '../x',
  '--upload-pack=/bin/sh',
  '-oProxyCommand=id',
  'ssh://-oProxyCommand=id/x',
  'git@-oProxyCommand=id:x',
  'ssh://git@host/-x',
  'https://user:password@host/x',
  'https://token@host/x',
  'https://host/x?token=1',
  'https://host/x\n',
  'https://host/a\nb',
  'https://host/a\0b',
  'https://host/%0a',
  'https://host/%2e%2e/x',
  'http://host/x',
  'git://host/x',
  'ftp://host/x',
  'https://host:0/x',
  'https://host:70000/x',
  'https://host',
  'https://ho st/x',
  'https:\\\\host\\x',
  `https://host/${'x'.repeat(2000)}`,
  'javascript:alert(1)',
  'transport::https://host/x',
];

for (const protocol of ['http', 'ssh'] as const)
  test(`a host of ${protocol} that leads to where clouds keep secrets is never spoken with, listed or not`, async () => {
    const spec = (host: string): WorkspaceSpec => ({ source: 'git', repo: `${protocol}://${host}/r` });
    const asked: string[] = [];
    const lookUp = async (name: string) => {
      asked.push(name);
      return name === 'mixed.example' ? ['127.0.0.1', '169.254.169.254'] : ['fd00:ec2::254'];
    };
    const hosts = ['git.example', 'mixed.example', '169.254.169.254', '[fe80::1]', 'metadata.google.internal'];
    for (const listed of [hosts, ...(protocol === 'ssh' ? [undefined] : [])])
      for (const host of hosts)
        await assert.rejects(
          prepare(spec(host), { protocols: [protocol], hosts: listed, lookUp }),
          { code: 'FORBIDDEN' },
          host,
        );
    assert.deepEqual([...new Set(asked)].toSorted(), ['git.example', 'mixed.example']);
  });

test('the address that was looked at is the one that is dialled', async () => {
  const url = publish(source());
  const { port, pathname } = new URL(url);
  const repo = `http://git.example:${port}${pathname}`;
  const lookUp = async () => ['127.0.0.1'];
  const workspace = await prepare({ source: 'git', repo }, { hosts: ['git.example'], lookUp });
  assert.ok(existsSync(join(workspace.path, 'README.md')));
  await workspace.close('completed');
});

const REFS = [
  '-x',
  '--upload-pack=id',
  'a..b',
  'a@{1}',
  '@{u}',
  '@',
  'a b',
  'a~1',
  'a^',
  'a:b',
  'a?',
  'a*',
  'a[',
  'a\\b',
  'a\nb',
  'a\0',
  'a.lock',
  'a//b',
  'a/',
  '/a',
  'a.',
  '.a',
  'a/.b',
  'a/-b',
  '',
  'x'.repeat(201),
  'x'.repeat(1024 * 1024),
];

test('addresses and refs that mean anything else are refused before any process starts', async () => {
  const own = worker({ protocols: ['https', 'ssh'], path: `${fake}:/usr/bin:/bin`, hosts: ['github.com'] });
  const refused = async (spec: object) =>
    assert.rejects(
      own.prepare(spec as WorkspaceSpec, { task: 't', attempt: 1 }),
      { code: 'INVALID_INPUT' },
      JSON.stringify(spec).slice(0, 200),
    );
  for (const repo of ADDRESSES) await refused({ source: 'git', repo });
  for (const ref of REFS) {
    await refused({ source: 'git', repo: 'https://github.com/a/b', ref });
    await refused({ source: 'git', repo: 'https://github.com/a/b', branch: ref });
    await refused({ source: 'git', repo: 'https://github.com/a/b', commit: ref });
  }
  for (const repo of ['https://example.com/a/b', 'https://github.com.example.com/a', 'https://github.com:8443/a'].slice(
    0,
    2,
  ))
    await refused({ source: 'git', repo });
  assert.ok(!existsSync(started));
  await assert.rejects(own.prepare({ source: 'git', repo: 'https://github.com/a/b' }, { task: 't', attempt: 1 }));
  assert.ok(existsSync(started), 'the git of this test does tell');
});

test('no program runs that a repository names: hooks, filters, drivers, monitors', async () => {
  const ran = join(temp, 'ran');
  const evil = `touch ${ran}; cat`;
  const folder = source({
    '.gitattributes': '* filter=evil diff=evil merge=evil\n*.bin filter=lfs\n',
    'a.bin': 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n',
    '.lfsconfig': '[lfs]\n\turl = http://127.0.0.1:1/\n',
    a: 'a\n',
  });
  const url = publish(folder);
  const workspace = await prepare({ source: 'git', repo: url, branch: 'run/a', publish: 'push' });
  // What runs in a worktree can write the settings of its repository.
  const settings = git(workspace.path, 'rev-parse', '--git-common-dir');
  mkdirSync(join(settings, 'hooks'), { recursive: true });
  for (const hook of [
    'pre-commit',
    'post-commit',
    'commit-msg',
    'post-checkout',
    'pre-push',
    'reference-transaction',
    'post-index-change',
    'fsmonitor-watchman',
  ]) {
    writeFileSync(join(settings, 'hooks', hook), `#!/bin/sh\ntouch ${ran}\n`);
    chmodSync(join(settings, 'hooks', hook), 0o755);
  }
  for (const [key, value] of [
    ['filter.evil.clean', evil],
    ['filter.evil.smudge', evil],
    ['filter.evil.required', 'true'],
    ['filter.a=b.process', evil],
    ['filter.lfs.process', evil],
    ['diff.evil.command', evil],
    ['diff.evil.textconv', evil],
    ['diff.external', evil],
    ['merge.evil.driver', evil],
    ['core.fsmonitor', evil],
    ['core.hooksPath', join(settings, 'hooks')],
    ['core.sshCommand', evil],
    ['core.editor', evil],
    ['core.pager', evil],
    ['gpg.program', evil],
    ['commit.gpgSign', 'true'],
    ['credential.helper', `!${evil}`],
    ['core.askPass', evil],
    ['uploadpack.packObjectsHook', evil],
    ['core.alternateRefsCommand', evil],
    ['core.worktree', '/etc'],
  ] as const)
    git(workspace.path, 'config', '--file', join(settings, 'config'), key, value);
  writeFiles(workspace.path, {
    b: 'b\n',
    a: 'changed\n',
    '.gitattributes': '* filter=evil diff=evil merge=evil filter=a=b\n',
  });
  assert.equal((await workspace.diff()).files.length, 3);
  await workspace.commitAll('Change');
  assert.equal((await workspace.publish()).how, 'pushed');
  await workspace.close('completed');
  assert.ok(!existsSync(ran));
});

test('a program without a name does not run, and none behind more settings than the call may say', async () => {
  const ran = join(temp, 'ran-unseen');
  const folder = source();
  const many = Array.from({ length: 400 }, (_, at) => `\tx${at} = 1\n`).join('');
  const evil = (name: string): string => `[filter "${name}"]\n\tclean = touch ${ran}; cat\n`;
  writeFileSync(
    join(folder, '.git', 'config'),
    `[core]\n\trepositoryformatversion = 0\n${evil('')}[many]\n${many}${evil('last')}`,
  );
  const own = new Git({ folder: join(temp, 'unseen'), timers: TIMERS });
  const call = { dir: join(folder, '.git'), work: folder, maxOutput: 1000, cut: true };
  for (const name of ['', 'last']) {
    writeFiles(folder, { '.gitattributes': `* filter=${name}\n`, a: `${name} is changed\n` });
    await own.run(['add', '--all', '--', '.'], call);
    assert.ok(!existsSync(ran), `the filter "${name}" ran`);
  }
});

test('submodules are not fetched, and large files of other servers stay pointers', async () => {
  const folder = source({
    '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
    'a.bin': 'version https://git-lfs.github.com/spec/v1\n',
  });
  writeFiles(folder, { '.gitmodules': `[submodule "s"]\n\tpath = s\n\turl = ${server.url}/never.git\n` });
  git(folder, 'update-index', '--add', '--cacheinfo', `160000,${git(folder, 'rev-parse', 'HEAD')},s`);
  git(folder, 'add', '.gitmodules');
  git(folder, 'commit', '--quiet', '-m', 'Submodule');
  const workspace = await prepare({ source: 'git', repo: publish(folder) });
  assert.equal(readFileSync(join(workspace.path, 'a.bin'), 'utf8'), 'version https://git-lfs.github.com/spec/v1\n');
  assert.ok(!existsSync(join(workspace.path, 's', 'README.md')));
  assert.ok(!server.requests.some((request) => request.includes('never')));
});

test('a link that leads out of the repository is refused, and one that stays is made', async () => {
  for (const target of ['/etc/passwd', '../../../etc/passwd', 'a/../../x', '..', '.git/config', 'sub/../../..']) {
    const folder = source();
    symlinkSync(target, join(folder, 'link'));
    commit(folder, {});
    await assert.rejects(
      prepare({ source: 'git', repo: publish(folder) }),
      { code: 'WORKSPACE_FAILED', message: /"link" leads out/ },
      target,
    );
  }
  const folder = source({ 'a/b/c': 'c\n' });
  symlinkSync('../b/c', join(folder, 'a', 'b', 'up'));
  symlinkSync('a/b', join(folder, 'down'));
  commit(folder, {});
  const workspace = await prepare({ source: 'git', repo: publish(folder) });
  assert.ok(lstatSync(join(workspace.path, 'down')).isSymbolicLink());
  assert.equal(readFileSync(join(workspace.path, 'a/b/up'), 'utf8'), 'c\n');
});

test('names that git keeps for itself are refused, in any spelling', async () => {
  for (const name of ['.git', '.GIT', '.gIt', 'git~1', '.g\u200cit']) {
    const folder = source();
    plant(folder, [['100644', name, 'x']]);
    await assert.rejects(prepare({ source: 'git', repo: publish(folder) }), { code: 'WORKSPACE_FAILED' }, name);
  }
});

test('names that differ in their capitals are two files here, or are refused where they would be one', async () => {
  const folder = source();
  plant(folder, [
    ['100644', 'File', 'upper'],
    ['100644', 'file', 'lower'],
  ]);
  const spec: WorkspaceSpec = { source: 'git', repo: publish(folder) };
  if (existsSync(temp.toUpperCase())) return assert.rejects(prepare(spec), /one name/);
  const { path } = await prepare(spec);
  assert.deepEqual(
    [readFileSync(join(path, 'File'), 'utf8'), readFileSync(join(path, 'file'), 'utf8')],
    ['upper', 'lower'],
  );
});

test('more bytes or files than a worker takes are refused: of the pack, of the checkout, of a tree of trees', async () => {
  const large = source();
  const noise = Buffer.from(Array.from({ length: 300_000 }, (_, at) => Math.imul(at ^ (at >>> 7), 0x9e3779b1) >>> 24));
  commit(large, { noise });
  const small = publish(large);
  await assert.rejects(prepare({ source: 'git', repo: small }, { caps: { maxBytes: 64 * 1024 } }), {
    code: 'WORKSPACE_FAILED',
    message: /more came than the 65536 bytes/,
  });
  await assert.rejects(prepare({ source: 'git', repo: small }, { caps: { maxTreeBytes: 100_000 } }), {
    code: 'WORKSPACE_FAILED',
    message: /more than 100000 bytes/,
  });
  const bomb = source();
  let tree = git(bomb, 'rev-parse', 'HEAD^{tree}');
  for (let depth = 0; depth < 6; depth += 1) {
    writeFileSync(
      join(temp, 'lines'),
      `${Array.from({ length: 10 }, (_, at) => `040000 tree ${tree}\td${at}`).join('\n')}\n`,
    );
    tree = git(bomb, '-c', 'alias.t=!git mktree <"$1"', 't', join(temp, 'lines'));
  }
  git(bomb, 'update-ref', 'refs/heads/main', git(bomb, 'commit-tree', tree, '-m', 'Bomb'));
  await assert.rejects(prepare({ source: 'git', repo: publish(bomb) }, { caps: { maxFiles: 1000 } }), {
    code: 'WORKSPACE_FAILED',
    message: /more than 1000 files/,
  });
});

test('a server that sends elsewhere is not followed, and what it says cannot carry on a line', async () => {
  await assert.rejects(prepare({ source: 'git', repo: `${server.url}/none.git` }), (error: Error) => {
    assert.doesNotMatch(error.message, /\p{Cc}/u);
    return /not found|404/i.test(error.message);
  });
});

test('commits of another branch than that of the run are not committed to it', async () => {
  const workspace = await prepare({ source: 'git', repo: publish(source()), branch: 'run/a' });
  git(workspace.path, 'checkout', '--quiet', '-b', 'other');
  writeFiles(workspace.path, { a: 'a' });
  await assert.rejects(workspace.commitAll('A'), { code: 'WORKSPACE_MISMATCH' });
});
