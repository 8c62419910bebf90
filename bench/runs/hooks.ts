/** The hooks of the machine, imported by the worker of the product. The count is told when the process ends. */
import { writeFileSync } from 'node:fs';
import { effect, effects } from './effects.ts';

interface Context {
  readonly run: number;
  readonly n: number;
}

const told = process.env['LEASEHOLD_BENCH_EFFECTS'];
if (told !== undefined) process.on('exit', () => writeFileSync(told, String(effects())));

export default class {
  onAction(_state: string, _action: string, context: Context): object {
    const n = context.n + 1;
    return { ...context, n, last: effect(context.run, n) };
  }
}
