import { shellWord } from '../../core/shell-word.ts';

export interface RemoteWorker {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly outputFile: string | undefined;
}

/**
 * A script for the `sh` of another host, which reads it from its standard input. It starts the worker in a session of its own where the host can,
 * writes `pid N` and ends. What is not there is said before anything is started.
 */
export function remoteScript({ argv, env, outputFile }: RemoteWorker): string {
  const words = argv.map(shellWord).join(' ');
  const program = shellWord(argv[0] ?? '');
  const output = outputFile === undefined ? '>/dev/null' : `>>${shellWord(outputFile)}`;
  const lines = [
    `command -v ${program} >/dev/null 2>&1 || { echo ${shellWord(`there is no program ${argv[0] ?? ''} on this host`)} >&2; exit 127; }`,
    ...(outputFile === undefined ? [] : [`: ${output} || exit 73`]),
    ...Object.entries(env).map(([name, value]) => `${name}=${shellWord(value)}; export ${name}`),
    'if command -v setsid >/dev/null 2>&1; then set -- setsid; else set --; fi',
    `nohup "$@" ${words} </dev/null ${output} 2>&1 &`,
    'echo "pid $!"',
  ];
  // Read whole before it runs: a connection that ends in between must not start half of it.
  return `{\n${lines.join('\n')}\nexit 0\n}\n`;
}
