import type { Edit } from './planted-driver.ts';

export interface DriverDefect {
  readonly what: string;
  readonly edits: readonly Edit[];
}

const plant = (what: string, ...edits: readonly (readonly [file: string, before: string, after: string])[]) => ({
  what,
  edits: edits.map(([file, before, after]) => ({ file, before, after })),
});

const DRIVER = 'durable-driver.ts';
const CHILDREN = 'durable-children.ts';
const HISTORY = 'run-history.ts';
const SPENDING = 'spending.ts';
const METER = 'inline-meter.ts';

/** What somebody might break one day of the driver of machines. The simulator must notice each. */
export const DRIVER_DEFECTS = {
  'reference-unresolved': plant('what the patches point to in the results of children is not looked up', [
    HISTORY,
    "new Map([...found, ['out', out]])",
    "new Map([['out', out]])",
  ]),
  'reference-elsewhere': plant('a reference leads to the result of another child', [
    CHILDREN,
    'ends[i] as TaskResult',
    'ends[ends.length - 1 - i] as TaskResult',
  ]),
  'state-stays': plant('the entry of a state is stored, and the run stays where it was', [
    'patch.ts',
    "key === 'input' || now[key] === undefined",
    "key === 'input' || key === 'state' || key === 'phase' || now[key] === undefined",
  ]),
  'entry-misplaced': plant('what a state did is stored under the name of the next one', [
    HISTORY,
    ': stepKey(step);',
    ': stepKey(snapshot.step);',
  ]),
  'effect-before-commit': plant('an effect begins before the one before it is stored', [
    DRIVER,
    '    } else if ((await this.#storeEarlier(snapshot)) === OVER) return OVER;',
    '    }',
  ]),
  'drop-forgotten': plant('what was taken out of the context comes back', [
    'patch.ts',
    '.filter(([key]) => !dropped.has(key))',
    '.filter(([key]) => dropped !== undefined || key)',
  ]),
  'base-counted-twice': plant('the entry that a base was written with is applied to it again', [
    HISTORY,
    'n > (base?.n ?? 0)',
    'n >= (base?.n ?? 0)',
  ]),
  'any-ends-on-failure': plant('the first machine that ends wins, and be it by a failure', [
    CHILDREN,
    'ends.some((end) => end?.ok === true)',
    'ends.some((end) => end !== undefined)',
  ]),
  'loser-left': plant('machines that have lost go on', [
    CHILDREN,
    "if (won && losers === 'cancel') await this.#cancel(open);",
    '',
  ]),
  'late-children-left': plant('machines that took too long go on', [
    CHILDREN,
    "      if (waited?.outcome === 'timed_out') {\n        await this.#cancel(open);",
    "      if (waited?.outcome === 'timed_out') {",
  ]),
  'born-again': plant('machines are started again by the next attempt', [
    DRIVER,
    'key: `${key}/${mark}${i}`',
    'key: `${key}/${mark}${i}.${this.#run.attempt}`',
  ]),
  'launched-unstored': plant('a launch is forgotten when it is committed later than its state', [
    DRIVER,
    '...launched, ...entries]',
    '...(done?.step === snapshot.step ? launched : []), ...entries]',
  ]),
  'lease-lost-ignored': plant('the driver goes on after its lease was lost', [
    DRIVER,
    '...told });\n    const turned',
    `...told }).catch((error: unknown): Turned => {
        if (!isEngineError(error, 'LEASE_LOST')) throw error;
        return { went: 'on', state: undefined, body: undefined, entries: [] };
      });
    const turned`,
  ]),
  'usage-settled-twice': plant('what calls have used is said again with the next commit', [
    SPENDING,
    '    this.#sums.clear();\n',
    '',
  ]),
  'usage-forgotten': plant('nobody says what calls have used', [DRIVER, '    this.#spending.end(spent, drawn);\n', '']),
  'inline-usage-forgotten': plant('nobody says what calls of machines within the attempt have used', [
    METER,
    '      spending.end(spent, drawn);\n',
    '',
  ]),
  'inline-undrawn': plant('machines within the attempt draw nothing for their calls', [
    METER,
    'if (drawn.length > 0) await this.#draw(drawn);',
    '',
  ]),
  'item-asked-again': plant('an agent is asked again for items that it has answered', [
    'ask-each.ts',
    'if (known !== undefined) return known as unknown as AgentEnd;',
    '',
  ]),
  'timeout-forgotten': plant('a run that is woken because its time is over waits again', [
    DRIVER,
    "    if (waited?.outcome === 'timed_out') throw timeout(timeoutMs);\n",
    '',
  ]),
  'timeout-restarted': plant('a run whose machines took too long waits for them anew', [
    CHILDREN,
    "if (waited?.outcome === 'timed_out') {",
    "if (waited?.outcome === 'timed_out' && this.#deps.born.size === 0) {",
  ]),
  'heard-forgotten': plant('an attempt does not ask what the wait of the one before has come to', [
    DRIVER,
    "const waited = await this.#children.lastWait(key);\n    if (waited?.outcome === 'timed_out'",
    "const waited = await this.#children.lastWait('another');\n    if (waited?.outcome === 'timed_out'",
  ]),
  'waits-unnamed': plant('all waits of a run have the same name', [
    DRIVER,
    '    const key = `${stepKey(snapshot.step)}/w`;',
    "    const key = 'w';",
  ]),
  // What the simulator itself found while this was built, put back.
  'late-by-half': plant(
    'machines that were cancelled because the time was over count as ended by themselves',
    [
      CHILDREN,
      'if (won || (open.length === 0 && !stopped)) return ends;',
      'if (won || open.length === 0) return ends;',
    ],
    [CHILDREN, 'const stopped = ends.some((end) => end?.ok === false && end.type === CANCELLED);', ''],
    [DRIVER, "      if (command.do === 'wait' || command.do === 'invoke') this.#begin(snapshot);\n", ''],
  ),
} as const satisfies Record<string, DriverDefect>;

export type DriverDefectName = keyof typeof DRIVER_DEFECTS;
