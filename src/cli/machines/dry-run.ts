import {
  type DryAct,
  type DryMove,
  type DryRun,
  type DryStep,
  dryRunMachine,
  type MachineSource,
} from '../../app/machines.ts';
import type { Out } from '../display/out.ts';
import { safeJson, safeLine } from '../display/safe.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold run FILE --dry-run`. */
export async function dryRun(
  source: MachineSource,
  input: Readonly<Record<string, unknown>>,
  out: Out,
): Promise<number> {
  const dry = await dryRunMachine(source, input);
  if (out.mode === 'json') out.json(dry);
  else for (const line of dryRunLines(dry, out.paint)) out.line(line);
  return EXIT.fine;
}

const INDENT = '     ';

/** `?` marks what depends on values that only a run would know, and `!` where errors lead. */
export function dryRunLines({ machine, steps, cut }: DryRun, paint: Out['paint'], depth = 0): readonly string[] {
  const lines = [
    paint(
      'dim',
      depth === 0 ? `${safeLine(machine)}: nothing is done. "?" depends on what only a run would know.` : '',
    ),
    ...steps.flatMap((step) => stepLines(step, paint, depth)),
    cut ? paint('dim', `${INDENT}… and so on: only the first ${steps.length} steps are shown.`) : '',
  ].filter((line) => line !== '');
  return depth === 0 ? lines : lines.map((line) => `${INDENT}│ ${line}`);
}

function stepLines(step: DryStep, paint: Out['paint'], depth: number): readonly string[] {
  const { number, state, certain, does, next, errors, output, fails } = step;
  const head = `${String(number).padStart(3)}${certain ? ' ' : paint('yellow', '?')} ${paint('bold', safeLine(state))}`;
  const under = (text: string): string => `${INDENT}${text}`;
  return [
    head,
    ...does.flatMap((act) => actLines(act, paint, depth)),
    ...(output === undefined ? [] : [under(`${paint('green', 'ends')} with ${jsonOf(output)}`)]),
    ...(fails === undefined ? [] : [under(paint('red', `fails: ${safeLine(fails)}`))]),
    ...next.map((move) => under(moveText(move, number, paint))),
    ...errors.map((move) => under(paint('yellow', errorText(move)))),
  ];
}

function actLines(act: DryAct, paint: Out['paint'], depth: number): readonly string[] {
  const under = (text: string): string => `${INDENT}${text}`;
  switch (act.do) {
    case 'action':
      return [under(`action ${safeLine(act.action)}${eachText(act.each)}`)];
    case 'wait': {
      const most = act.timeout === undefined ? '' : ` (at most ${textOf(act.timeout)} s)`;
      return [under(`waits for signal ${textOf(act.channel)}${most}`)];
    }
    case 'agent':
      return [under(`agent ${safeLine(act.agent)}${eachText(act.each)} ${paint('dim', `with ${jsonOf(act.input)}`)}`)];
    case 'machine':
    case 'launch': {
      const any = act.mode === 'any' ? ', the first that completes' : '';
      const head = `${act.do} ${safeLine(act.machine)}${eachText(act.each)}${any}`;
      return [
        ...(act.inputs.length === 0 ? [under(`${head} ${paint('dim', 'for no item')}`)] : []),
        ...act.inputs.map((input) => under(`${head} ${paint('dim', `with ${jsonOf(input)}`)}`)),
        ...(act.inside === undefined ? [] : dryRunLines(act.inside, paint, depth + 1)),
      ];
    }
  }
}

const eachText = (each: unknown): string => (each === undefined ? '' : ` for each of ${textOf(each)}`);

function moveText({ to, when, decided, step, forever }: DryMove, from: number, paint: Out['paint']): string {
  const target = `→ ${safeLine(to)}${step === undefined || step === from + 1 ? '' : ` (step ${step})`}`;
  const why = when === undefined ? '' : `  if ${safeLine(when)}`;
  if (forever === true) return paint('red', `${target}${why}  as before: it never ends`);
  return decided ? `${target}${paint('dim', why)}` : `${paint('yellow', '?')} ${target}${why || '  otherwise'}`;
}

const errorText = ({ to, when, step }: DryMove): string =>
  `! → ${safeLine(to)}${step === undefined ? '' : ` (step ${step})`}  on ${when === 'default' ? 'any error' : safeLine(when ?? '')}`;

const textOf = (value: unknown): string => (typeof value === 'string' ? safeLine(value) : jsonOf(value));

const jsonOf = (value: unknown): string => safeJson(value);
