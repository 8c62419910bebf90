/** Ends of machines that are errors. */
import { isEngineError } from '../../core/errors.ts';
import type { ChildEnd } from '../../flow/machine/commands.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import type { Snapshot } from '../../flow/machine/snapshot.ts';
import { Left } from './left.ts';

/** A machine that failed, with the type of its error. */
export class MachineFailed extends Error {
  override readonly name = 'MachineFailed';
  readonly type: string;
  readonly state: string;

  constructor(type: string, message: string, state: string) {
    super(message);
    this.type = type;
    this.state = state;
  }
}

/** The output of a run that has completed. Throws `MachineFailed` otherwise. */
export function ended({ end, state }: Snapshot): unknown {
  if (end?.kind === 'completed') return end.output;
  throw new MachineFailed(end?.error.type ?? 'Error', end?.error.message ?? 'it has not ended', state);
}

/** What becomes of a child. */
export async function endOf(run: Promise<unknown>): Promise<ChildEnd | Left> {
  try {
    return { ok: true, output: await run };
  } catch (error) {
    if (error instanceof Left) return error;
    return { ok: false, ...faultOf(error) };
  }
}

/** The type that `on_error` is asked for, and what the machine is told. */
export function faultOf(error: unknown): { readonly type: string; readonly message: string } {
  if (error instanceof MachineFailed || error instanceof StateError)
    return { type: error.type, message: error.message };
  if (error instanceof Error) return { type: typeOf(error), message: error.message };
  return { type: 'Error', message: String(error) };
}

/** Errors of ours go by their codes. Others by their classes, which need not say their own names; those of the system have codes alone. */
function typeOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (isEngineError(error)) return error.code;
  const named = [error.name, error.constructor.name].find((name) => name !== 'Error' && name !== '');
  return named ?? code ?? 'Error';
}
