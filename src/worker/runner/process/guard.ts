import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { START_MARK } from '../child/group-reports.ts';
import { HAS_PROCESS_TABLE } from './process-table.ts';
import { WORKER_MARK } from './sweep.ts';

/** One second: it may be about to fork, or to run. */
const START_ROUNDS = 20;

/**
 * Reads process groups from its standard input ("+ 123", "- 123"), and marks of what is about to start ("? mark", "! mark" when it has). End of file
 * comes when the worker ends in any way, SIGKILL included. Then the guard ends the groups, their descendants, what was about to start, and all processes with
 * the mark of the worker ($1) in their environment, which have left their group. Descendants are found where there is a process table ($2). `grep -z`
 * compares whole entries, so that text inside another variable does not match. `cat` passes by what ends while it is read, where awk would give up.
 */
const SCRIPT = `
trap '' HUP INT TERM PIPE
groups=
starts=
without() { rest=; for one in $1; do [ "$one" = "$2" ] || rest="$rest $one"; done; }
while read -r op group; do
  case $op in
    +) groups="$groups $group" ;;
    -) without "$groups" "$group"; groups=$rest ;;
    '?') starts="$starts $group" ;;
    !) without "$starts" "$group"; starts=$rest ;;
  esac
done
# Before anybody dies: a child whose parent is gone belongs to nobody any more.
kin=
[ -z "$2" ] || kin=$(cat /proc/[0-9]*/stat 2>/dev/null | awk -v groups="$groups" '
  BEGIN { n = split(groups, list, " "); for (i = 1; i <= n; i++) wanted[list[i]] = 1 }
  { pid = $1; line = $0; sub(/^.*[)] /, "", line); split(line, f, " "); parent[pid] = f[2]; if (f[3] in wanted) mine[pid] = 1 }
  END { do { more = 0; for (p in parent) if (!(p in mine) && (parent[p] in mine)) { mine[p] = 1; more = 1 } } while (more)
        for (p in mine) printf "%s ", p }')
for g in $groups; do kill -KILL -"$g" 2>/dev/null; done
for p in $kin; do kill -KILL "$p" 2>/dev/null; done
# Until it runs, it has the environment of the worker.
for start in $starts; do
  round=0
  while [ -n "$2" ] && [ "$round" -lt ${START_ROUNDS} ]; do
    for file in $(grep -lzxF -e "${START_MARK}=$start" /proc/[0-9]*/environ 2>/dev/null); do pid=\${file#/proc/}; kill -KILL "\${pid%/environ}" 2>/dev/null; done
    round=$((round + 1))
    sleep 0.05
  done
done
[ -n "$1" ] || exit 0
round=0
while [ "$round" -lt 60 ]; do
  found=$(grep -lzxF -e "$1" /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || exit 0
  for file in $found; do pid=\${file#/proc/}; kill -KILL "\${pid%/environ}" 2>/dev/null; done
  round=$((round + 1))
  [ "$round" -lt 5 ] || sleep 0.05
done
exit 1
`;

const RESTART_MS = 100;

export interface GuardOptions {
  /** The mark of the processes. Undefined: they bear none, and are known by their groups and whom they descend from. */
  readonly incarnation: string | undefined;
  readonly path: string | undefined;
  readonly warn: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
}

/** A shell outside of the worker that ends the worker's processes when the worker cannot. One for each worker. */
export class Guard {
  readonly #options: GuardOptions;
  readonly #groups = new Set<number>();
  readonly #starts = new Set<string>();
  #shell: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #closing = false;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** Rejects where there is no shell: without a guard no child may be started. */
  async start(): Promise<void> {
    const shell = this.#spawn();
    await once(shell, 'spawn');
  }

  watch(group: number): void {
    this.#groups.add(group);
    this.#shell?.stdin?.write(`+ ${group}\n`);
  }

  forget(group: number): void {
    if (this.#groups.delete(group)) this.#shell?.stdin?.write(`- ${group}\n`);
  }

  starting(mark: string): void {
    this.#starts.add(mark);
    this.#shell?.stdin?.write(`? ${mark}\n`);
  }

  started(mark: string): void {
    if (this.#starts.delete(mark)) this.#shell?.stdin?.write(`! ${mark}\n`);
  }

  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#restart);
    const shell = this.#shell;
    if (shell?.pid === undefined || shell.exitCode !== null || shell.signalCode !== null) return;
    shell.ref();
    shell.stdin?.end();
    await once(shell, 'exit');
  }

  #spawn(): ChildProcess {
    const { incarnation, path = '/usr/local/bin:/usr/bin:/bin' } = this.#options;
    const mark = HAS_PROCESS_TABLE && incarnation !== undefined ? `${WORKER_MARK}=${incarnation}` : '';
    // In a session of its own, so that signals to the worker's group do not reach it; without the mark, so that it does not kill itself.
    const shell = spawn('sh', ['-c', SCRIPT, 'leasehold-guard', mark, HAS_PROCESS_TABLE ? 'kin' : ''], {
      cwd: '/',
      detached: true,
      env: { PATH: path },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell = shell;
    shell.unref();
    shell.on('error', (error) =>
      this.#options.warn('the guard of the child processes does not start', { error: error.message }),
    );
    shell.stdin?.on('error', () => {});
    shell.once('exit', (code, signal) => {
      if (this.#closing) return;
      this.#options.warn('the guard of the child processes has ended; another one is started', { code, signal });
      this.#restart = setTimeout(() => this.#again(), RESTART_MS).unref();
    });
    return shell;
  }

  #again(): void {
    if (this.#closing) return;
    const shell = this.#spawn();
    for (const group of this.#groups) shell.stdin?.write(`+ ${group}\n`);
    for (const mark of this.#starts) shell.stdin?.write(`? ${mark}\n`);
  }
}
