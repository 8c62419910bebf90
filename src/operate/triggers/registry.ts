import { isEngineError } from '../../core/errors.ts';
import { expressionOf } from '../../core/schedule/expression.ts';
import { type Execution, TRIGGER_EVENTS, triggerProblems } from '../../core/trigger/trigger.ts';
import { runPermissions } from '../../flow/machine/bundle/run-permissions.ts';
import { MACHINE_HANDLER, MACHINE_QUEUE, MACHINE_TRIES } from '../../flow/machine/machine-run.ts';
import type { RequestOf } from '../../protocol/paths.ts';

/** A trigger as it is put. */
export type TriggerRequest = RequestOf<'putTrigger'>;

/** What a file of triggers asks for: what listens is a trigger, what goes by a clock is a schedule. */
export interface Registry {
  readonly triggers: readonly RequestOf<'putTrigger'>[];
  readonly schedules: readonly RequestOf<'putSchedule'>[];
  /** All that is wrong with it. */
  readonly problems: readonly RegistryProblem[];
}

export interface RegistryProblem {
  /** Such as `triggers[1].on`. */
  readonly place: string;
  readonly problem: string;
}

type Entry = Readonly<Record<string, unknown>>;

/** Types of FlatMachines. What starts them from outside, a cloud function or a job of a cluster, calls the trigger with a token. */
const TYPES = ['cron', 'webhook', 'subprocess', 'in_loop', 'in-loop', 'lambda', 'k3s'] as const;
type Type = (typeof TYPES)[number];
const KNOWN: ReadonlySet<string> = new Set(['name', 'type', 'schedule', 'timezone', 'on', 'machine', 'input']);
const EXECUTIONS: Readonly<Partial<Record<Type, Execution>>> = {
  subprocess: 'process',
  in_loop: 'loop',
  'in-loop': 'loop',
};
const MOST_ENTRIES = 1000;
const MOST_PROBLEMS = 100;

/** Reads `trigger_registry.yml` as FlatMachines has it. An entry with `kind` instead of `type` is a trigger in our own words. */
export function readRegistry(value: unknown): Registry {
  const problems: RegistryProblem[] = [];
  const note = (place: string, problem: string): void => {
    if (problems.length < MOST_PROBLEMS) problems.push({ place, problem });
  };
  const triggers: RequestOf<'putTrigger'>[] = [];
  const schedules: RequestOf<'putSchedule'>[] = [];
  const listed = isMap(value) ? value['triggers'] : undefined;
  if (!Array.isArray(listed)) {
    note('triggers', 'it is a list of triggers');
    return { triggers, schedules, problems };
  }
  if (isMap(value)) {
    for (const key of Object.keys(value)) if (key !== 'triggers') note(key, 'there is no such field beside triggers');
  }
  if (listed.length > MOST_ENTRIES) note('triggers', `it has more than ${MOST_ENTRIES} entries`);
  const names = new Map<unknown, number>();
  for (const [i, entry] of listed.slice(0, MOST_ENTRIES).entries()) {
    const at = (field: string): string => `triggers[${i}]${field === '' ? '' : `.${field}`}`;
    if (!isMap(entry)) {
      note(at(''), 'it is a map');
      continue;
    }
    const first = names.get(entry['name']);
    if (first !== undefined) note(at('name'), `triggers[${first}] has the same name`);
    names.set(entry['name'], i);
    const tell = (field: string, problem: string): void => note(at(field), problem);
    if (entry['kind'] !== undefined) readOwn(entry, tell, triggers);
    else if (entry['type'] === 'cron') readCron(entry, tell, schedules);
    else readTyped(entry, tell, triggers);
  }
  return { triggers, schedules, problems };
}

type Tell = (field: string, problem: string) => void;

function readOwn(entry: Entry, tell: Tell, triggers: RequestOf<'putTrigger'>[]): void {
  const { enabled, secret, ...trigger } = entry;
  const found = triggerProblems(trigger);
  for (const { field, problem } of found) tell(field, problem);
  if (enabled !== undefined && typeof enabled !== 'boolean') tell('enabled', 'it is true or false');
  if (secret !== undefined && !isMap(secret)) tell('secret', 'it is {"env": NAME} or {"value": TEXT}');
  if (found.length === 0) triggers.push(entry as unknown as RequestOf<'putTrigger'>);
}

/** A clock starts the machine as a task of its handler. */
function readCron(entry: Entry, tell: Tell, schedules: RequestOf<'putSchedule'>[]): void {
  checkFields(entry, tell);
  const { name, schedule, timezone = 'UTC', machine, input } = entry;
  if (entry['on'] !== undefined) tell('on', 'a cron trigger goes by its schedule');
  const fine = checkMachine(entry, tell);
  if (typeof schedule !== 'string' || typeof timezone !== 'string') {
    tell(typeof schedule === 'string' ? 'timezone' : 'schedule', 'it is a text');
    return;
  }
  try {
    expressionOf({ cron: schedule }, timezone);
  } catch (error) {
    tell('schedule', isEngineError(error) ? String(error.details?.['problem']) : String(error));
    return;
  }
  if (!fine) return;
  schedules.push({
    name: name as string,
    cron: schedule,
    timezone,
    queue: MACHINE_QUEUE,
    handler: MACHINE_HANDLER,
    input: { name: machine, ...(input === undefined ? {} : { input }) },
    maxAttempts: MACHINE_TRIES,
    permissions: runPermissions(MACHINE_QUEUE, []) as NonNullable<RequestOf<'putSchedule'>['permissions']>,
  });
}

function readTyped(entry: Entry, tell: Tell, triggers: RequestOf<'putTrigger'>[]): void {
  checkFields(entry, tell);
  const { name, type, on, schedule, timezone, machine, input } = entry;
  if (!(TYPES as readonly unknown[]).includes(type)) {
    tell('type', `it is one of ${TYPES.join(', ')}; or the entry has "kind", one of webhook, event, file and manual`);
    return;
  }
  if (schedule !== undefined || timezone !== undefined) {
    tell(schedule === undefined ? 'timezone' : 'schedule', 'only a cron trigger goes by a clock');
  }
  const listens = on !== undefined;
  if (listens && !(TRIGGER_EVENTS as readonly unknown[]).includes(on)) {
    tell('on', `it is one of ${TRIGGER_EVENTS.join(', ')}`);
  }
  if (listens && type === 'webhook') tell('on', 'a webhook is called, and listens to no event');
  if (!checkMachine(entry, tell) || (listens && !(TRIGGER_EVENTS as readonly unknown[]).includes(on))) return;
  const execution = EXECUTIONS[type as Type];
  triggers.push({
    name: name as string,
    kind: type === 'webhook' ? 'webhook' : listens ? 'event' : 'manual',
    // A checker looks at the whole pool: one run for all work that came together.
    ...(listens && type !== 'webhook' ? { on: on as (typeof TRIGGER_EVENTS)[number], together: true } : {}),
    run: { use: machine as string },
    ...(input === undefined ? {} : { input }),
    ...(execution === undefined ? {} : { execution }),
  });
}

function checkFields(entry: Entry, tell: Tell): void {
  for (const field of Object.keys(entry)) if (!KNOWN.has(field)) tell(field, 'there is no such field');
}

function checkMachine({ name, machine, input }: Entry, tell: Tell): boolean {
  const [wrong] = triggerProblems({ name, kind: 'manual', run: {} });
  if (wrong !== undefined) tell(wrong.field, wrong.problem);
  const isName = typeof machine === 'string' && machine.length > 0 && machine.length <= 255;
  if (!isName) tell('machine', 'it is the name of a machine');
  if (input !== undefined && !isMap(input)) tell('input', 'it is a map');
  return wrong === undefined && isName && (input === undefined || isMap(input));
}

function isMap(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
