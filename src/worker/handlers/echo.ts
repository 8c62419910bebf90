import timers from 'node:timers/promises';
import { task } from '../define/task.ts';
import { either, flag, object, optional, text, whole } from './schema.ts';

const LONGEST_LINE = 200;

const input = object(
  {
    delay_ms: optional(whole({ min: 0, max: 86_400_000, about: 'Wait this long first.' })),
    fail: optional(either(flag(), text(), 'true, false or a text', 'Fail, with this message when it is a text.')),
  },
  { open: true },
);

/** Returns its input: for first steps, and for tests of everything around a handler. */
export const echo = task('echo', {
  input,
  async run(given, ctx) {
    const { delay_ms: ms = 0, fail = false } = given;
    if (ms > 0) await timers.setTimeout(ms, undefined, { signal: ctx.signal });
    ctx.log(`echo ${JSON.stringify(given).slice(0, LONGEST_LINE)}`);
    if (fail !== false) throw new Error(fail === true ? 'It was told to fail.' : fail);
    return given;
  },
});
