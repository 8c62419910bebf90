/** What is wrong with a machine and with those that it brings, all of it, each with its file and line. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fault, isEngineError } from '../../core/errors.ts';
import { isMap, type Value } from '../../flow/expression/values.ts';
import { type Path, pathText } from '../../flow/machine/problems.ts';
import { readMachine } from '../../flow/machine/read-machine.ts';
import { readMachineFile } from '../../worker/machine/load-machine.ts';
import type { MachineSource } from '../../worker/machine/loader-options.ts';

export interface MachineProblem {
  readonly file: string;
  /** From 1; undefined for a machine that has no text. */
  readonly line: number | undefined;
  readonly level: 'error' | 'warning';
  /** `data.states.start.transitions[0].to`; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
}

/** `order.yml:12: data.states.pay.on_error: there is no state "refund"` */
export function problemLine({ file, line, path, message }: MachineProblem): string {
  return [`${file}${line === undefined ? '' : `:${line}`}`, ...(path === '' ? [] : [path]), message].join(': ');
}

/** The problems of a file and of the files and machines in its `machines`. A file that is not there rejects with `NOT_FOUND`. */
export async function problemsOfFile(file: string, options: CheckOptions): Promise<readonly MachineProblem[]> {
  try {
    return await problemsOf(await readMachineFile(file), options);
  } catch (error) {
    if (!isEngineError(error, 'INVALID_INPUT') && !isEngineError(error, 'TOO_LARGE')) throw error;
    return [unreadable(file, error)];
  }
}

export interface CheckOptions {
  /** Warnings count as errors. */
  readonly strict?: boolean;
}

export async function problemsOf(
  source: MachineSource,
  options: CheckOptions = {},
): Promise<readonly MachineProblem[]> {
  return new Check(options.strict ?? false).source(source, []);
}

const MISSING = 'there is no file';

/** Machines that a run would fail to find when it comes to them. */
export function missingIn(problems: readonly MachineProblem[]): readonly MachineProblem[] {
  return problems.filter(({ message }) => message.startsWith(MISSING));
}

/** Throws `INVALID_INPUT` that lists all errors, one a line. */
export function refuseProblems(name: string, problems: readonly MachineProblem[]): void {
  if (!problems.some(({ level }) => level === 'error')) return;
  // Whoever has to mend it anyway wants to hear of files that are missing, too.
  const missing = new Set(missingIn(problems));
  const errors = problems.filter((problem) => problem.level === 'error' || missing.has(problem));
  const problem = errors.length === 1 ? 'it has a problem' : `it has ${errors.length} problems`;
  throw fault(
    'INVALID_INPUT',
    { field: `machine ${name}`, problem, problems: errors },
    { hint: errors.map(problemLine).join('\n') },
  );
}

function unreadable(file: string, error: Error & { readonly details?: unknown }): MachineProblem {
  const details = isMap(error.details) ? error.details : {};
  const text = typeof details['problem'] === 'string' ? details['problem'] : error.message;
  const [, line, message = text] = /^line (\d+): (.*)$/s.exec(text) ?? [];
  return { file, line: line === undefined ? undefined : Number(line), level: 'error', path: '', message };
}

class Check {
  readonly #strict: boolean;
  readonly #seen = new Set<string>();

  constructor(strict: boolean) {
    this.#strict = strict;
  }

  /** `at`: where the machine stands in the text of its file. */
  async source(source: MachineSource, at: Path): Promise<readonly MachineProblem[]> {
    const { value, name: file } = source;
    const { problems } = readMachine(value, { strict: this.#strict });
    const own = problems.map(({ path, level, message }): MachineProblem => {
      const whole = [...at, ...path];
      return { file, line: source.lineOf?.(whole), level, path: pathText(whole), message };
    });
    // As somebody reads the file: the reader looks at states first, and at where they lead after that.
    const inOrder = own.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
    return [...inOrder, ...(await this.#agents(source, at)), ...(await this.#peers(source, at))];
  }

  /** What their files say is read when they are called; here, whether there is something to read. */
  async #agents(source: MachineSource, at: Path): Promise<readonly MachineProblem[]> {
    const data: Value = isMap(source.value) ? source.value['data'] : undefined;
    const agents: Value = isMap(data) ? data['agents'] : undefined;
    if (!isMap(agents)) return [];
    const found = await Promise.all(
      Object.entries(agents).map(async ([name, given]): Promise<readonly MachineProblem[]> => {
        const needed = isMap(given) && !isMap(given['config']) ? given['ref'] : given;
        // Any other text may be the name of a function.
        if (typeof needed !== 'string' || !/\.(?:ya?ml|json)$/.test(needed)) return [];
        const file = resolve(source.folder, needed);
        if (!existsSync(file)) return [this.#missing(source, [...at, 'data', 'agents', name], needed)];
        return readMachineFile(file).then(
          () => [],
          (error: Error) => [{ ...unreadable(file, error), level: this.#strict ? 'error' : 'warning' }],
        );
      }),
    );
    return found.flat();
  }

  /** A run may never come to it, or go on from the error: it is refused only by whoever wants all to be right. */
  #missing(source: MachineSource, at: Path, given: string): MachineProblem {
    const place = { file: source.name, line: source.lineOf?.(at), path: pathText(at) };
    return { ...place, level: this.#strict ? 'error' : 'warning', message: `${MISSING} ${JSON.stringify(given)}` };
  }

  async #peers(source: MachineSource, at: Path): Promise<readonly MachineProblem[]> {
    const data: Value = isMap(source.value) ? source.value['data'] : undefined;
    const machines: Value = isMap(data) ? data['machines'] : undefined;
    if (!isMap(machines)) return [];
    const found = await Promise.all(
      Object.entries(machines).map(([name, given]) => this.#peer(source, [...at, 'data', 'machines', name], given)),
    );
    return found.flat();
  }

  async #peer(source: MachineSource, at: Path, given: Value): Promise<readonly MachineProblem[]> {
    const inner = isMap(given) ? given : {};
    const { path, inline } = inner;
    const file = typeof given === 'string' ? given : typeof path === 'string' ? path : undefined;
    if (file !== undefined) return this.#file(source, at, resolve(source.folder, file), file);
    if (isMap(inline)) return this.source({ ...source, value: inline }, [...at, 'inline']);
    return isMap(given) ? this.source({ ...source, value: given }, at) : [];
  }

  async #file(source: MachineSource, at: Path, file: string, given: string): Promise<readonly MachineProblem[]> {
    if (this.#seen.has(file)) return [];
    this.#seen.add(file);
    if (!existsSync(file)) return [this.#missing(source, at, given)];
    try {
      return await this.source(await readMachineFile(file), []);
    } catch (error) {
      if (!isEngineError(error)) throw error;
      return [unreadable(file, error)];
    }
  }
}
