import { spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';

/** The tool of the system that makes networks. */
const IP = 'ip';
/** Of what is made here; at most 15 letters with what is added to it. */
const NAME = `lh-${process.pid}`;

/** A network namespace that is joined to ours by a cable: another machine, as far as the network goes. */
export interface SecondMachine {
  /** Ours, as it sees us. */
  readonly address: string;
  /** Before a command that is to run there. Its interface is called eth0. */
  readonly wrapper: readonly string[];
}

/** Why there can be none here; false: there can. */
export function noSecondMachine(): string | false {
  if (process.platform !== 'linux') return 'network namespaces are those of Linux';
  const probe = `${NAME}-probe`;
  const made = spawnSync(IP, ['netns', 'add', probe], { encoding: 'utf8' });
  if (made.error !== undefined) return 'there is no ip(8) that makes network namespaces';
  if (made.status !== 0) return `this user may make no network namespace: ${made.stderr.trim()}`;
  const cable = ['link', 'add', `${NAME}p`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', probe];
  const joined = spawnSync(IP, cable, { encoding: 'utf8' });
  spawnSync(IP, ['netns', 'del', probe]);
  return joined.status === 0 ? false : `no cable can be laid to a network namespace: ${joined.stderr.trim()}`;
}

export function secondMachine(t: TestContext): SecondMachine {
  // Of a network that is set aside for such tests; the number of the process keeps runs at the same time apart.
  const [third, fourth] = [(process.pid >> 6) & 0xff, (process.pid & 0x3f) << 2];
  const [ours, theirs] = [`198.18.${third}.${fourth + 1}`, `198.18.${third}.${fourth + 2}`];
  const cable = `${NAME}v`;
  // With the namespace its end of the cable goes, and with that ours.
  t.after(() => void spawnSync(IP, ['netns', 'del', NAME]));
  ip('netns', 'add', NAME);
  ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', NAME);
  ip('addr', 'add', `${ours}/30`, 'dev', cable);
  ip('link', 'set', cable, 'up');
  ip('-n', NAME, 'addr', 'add', `${theirs}/30`, 'dev', 'eth0');
  ip('-n', NAME, 'link', 'set', 'eth0', 'up');
  ip('-n', NAME, 'link', 'set', 'lo', 'up');
  return { address: ours, wrapper: [IP, 'netns', 'exec', NAME] };
}

function ip(...args: readonly string[]): void {
  const { status, stderr } = spawnSync(IP, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}
