import type { FiringView, PutTriggerView, TriggerView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatTime } from '../display/time.ts';

/** What a trigger listens to, in one line: `work_added in mail`. */
export function sourceText({ kind, on, queues, states, folder, match, path, signature }: TriggerView): string {
  switch (kind) {
    case 'event':
      return [on, states && `as ${states.join(', ')}`, queues && `in ${queues.join(', ')}`].filter(Boolean).join(' ');
    case 'file':
      return `${folder}/${match ?? '*'}`;
    case 'webhook':
      return `POST ${path}, signed as ${signature ?? 'leasehold'} does`;
    case 'manual':
      return 'by hand';
  }
}

/** What it does: `push orders`, `run of ingest by a process`, `check papers`. */
export function actionText({ push, run, check, execution }: TriggerView): string {
  if (check !== undefined) return `check ${check}`;
  if (push !== undefined) return `push ${(push as { readonly queue: string }).queue}`;
  const { use, workflow, title } = run as {
    readonly use?: string;
    readonly workflow?: string;
    readonly title?: string;
  };
  const by = execution === undefined || execution === 'task' ? '' : ` by a ${execution}`;
  return `run ${use ?? workflow ?? title ?? 'a machine of its own'}${by}`;
}

/** `pushed, completed`. */
export function firingText({ outcome, state, detail }: FiringView): string {
  const words = state === undefined ? outcome : `${outcome}, ${state}`;
  return detail === undefined ? words : `${words}: ${detail}`;
}

export function describeTrigger(trigger: TriggerView, history: readonly FiringView[], out: Out): readonly string[] {
  const dim = (text: string): string => out.paint('dim', text);
  const { name, enabled, input, secret, variable, rate, fired } = trigger;
  const line = (label: string, text: string): string => `${dim(label.padEnd(10))}  ${safeLine(text)}`;
  return [
    `${out.paint('bold', name)}  ${trigger.kind}, ${enabled ? 'on' : 'off'}`,
    line('listens', sourceText(trigger)),
    line('does', actionText(trigger)),
    ...(input === undefined ? [] : [line('input', JSON.stringify(input).slice(0, 200))]),
    ...(secret === undefined ? [] : [line('secret', variable === undefined ? secret : `in ${variable}`)]),
    ...(rate === undefined ? [] : [line('rate', `${rate} a minute`)]),
    line('fired', String(fired)),
    ...history.slice(0, 20).map((one, i) => `${dim((i === 0 ? 'history' : '').padEnd(10))}  ${firingLine(one)}`),
  ];
}

export function firingLine(one: FiringView): string {
  const task = one.task === undefined ? '' : `  ${one.task}`;
  return `${formatTime(one.at)}  ${safeLine(one.about)}  ${safeLine(firingText(one))}${task}`;
}

/** A secret is told once, where it was made. */
export function tellSecret(out: Out, { name, newSecret, path }: PutTriggerView): void {
  if (newSecret === undefined) return;
  out.line(`The secret of ${name}, which is shown this once: ${newSecret}`);
  out.note(`Its sender posts to ${path} and signs id, time and body with it.`);
}
