import { budgetChannel } from '../../src/core/limits/budget.ts';
import type * as port from '../../src/store/store.ts';
import { sayTurn } from './models/turn-model.ts';
import type { SimProcess } from './process.ts';
import type { Run } from './run.ts';

export type Verb = {
  [K in keyof port.Store]: port.Store[K] extends (params: never) => Promise<unknown> ? K : never;
}[keyof port.Store];
type Params<K extends Verb> = Parameters<port.Store[K]>[0];
type Answer<K extends Verb> = Awaited<ReturnType<port.Store[K]>>;
type Judge<K extends Verb> = (run: Run, params: Params<K>, answer: Answer<K>) => string | undefined;

/** By verb: what the model makes of an answer, and the line of it in the trace. */
const JUDGES: { readonly [K in Verb]?: Judge<K> } = {
  taskPush: ({ model }, { items }, answers) => {
    model.pushes.pushed(items, answers);
    return answers.map((a) => (a.ok ? `${a.task}${a.fresh ? '' : ' (old)'}` : 'conflict')).join(' ');
  },
  taskClaim: ({ model }, { claims }, answers) => {
    for (const [i, claim] of claims.entries()) model.claimed(claim, answers[i]);
    return (
      answers
        .flatMap((answer) => answer?.grants ?? [])
        .map((g) => `${g.task}#${g.attempt}`)
        .join(' ') || undefined
    );
  },
  taskSettle: ({ model }, { items }, answers) => {
    for (const [i, item] of items.entries()) model.settled(item, answers[i] as port.SettleAnswer);
    return items.map((item, i) => `${item.task}#${item.attempt} ${item.to}: ${answers[i]}`).join(', ');
  },
  taskReturn: ({ model }, { items }, answers) => {
    for (const [i, item] of items.entries()) model.returned(item, answers[i] as port.SettleAnswer);
    return items.map((item, i) => `${item.task}#${item.attempt} ${item.change}: ${answers[i]}`).join(', ');
  },
  leaseRenew: ({ model }, { items }, answers) => {
    for (const [i, item] of items.entries()) model.renewed(item, answers[i] as port.RenewAnswer);
    return items.map((item, i) => `${item.task}#${item.attempt} ${answers[i]?.held ? 'held' : 'lost'}`).join(', ');
  },
  logAppend: ({ model }, { items }, answers) => {
    for (const [i, item] of items.entries()) model.logged(item, answers[i] as port.LogAnswer);
    return items.map((item, i) => `${item.task}#${item.attempt} ${answers[i]}`).join(', ');
  },
  leaseCancels: ({ model }, { holder }, leases) => {
    model.askedToStop(holder, leases);
    return undefined;
  },
  leaseReap: ({ model }, { duty }, { reaped }) => {
    model.duties.wrote(duty, false);
    return reaped > 0 ? `reaped ${reaped}` : undefined;
  },
  taskStage: ({ model }, { duty }, { staged }) => {
    model.duties.wrote(duty, false);
    return staged > 0 ? `staged ${staged}` : undefined;
  },
  taskExpire: ({ model }, { duty }, { expired }) => {
    model.duties.wrote(duty, false);
    return expired > 0 ? `timed out ${expired}` : undefined;
  },
  workerReap: ({ model, gates }, { duty }, lost) => {
    model.duties.wrote(duty, false);
    model.fleet.fellSilent(lost);
    gates.reach('worker lost', lost.length);
    return lost.length > 0 ? `lost ${lost}` : undefined;
  },
  taskPrune: ({ model }, { duty, retentionMs }, { tasks }) => {
    model.duties.wrote(duty, false);
    model.waits.pruned(retentionMs);
    return tasks > 0 ? `pruned ${tasks}` : undefined;
  },
  statsAudit: ({ model }, { duty }, drifts) => {
    model.duties.wrote(duty, false);
    if (drifts.length > 0) throw new Error(`the auditor found drift: ${JSON.stringify(drifts)}`);
    return undefined;
  },
  triggerFire: ({ model }, firing, { moved, pushed }) => {
    model.duties.wrote(firing.duty, false);
    model.pushes.fired(firing, moved, pushed);
    return moved ? `fired ${pushed.length}` : 'not moved';
  },
  dutyTake: ({ model }, { name, ttlMs }, tenure) => {
    model.duties.taken(name, ttlMs, tenure);
    return tenure && `${name}@${tenure.epoch}`;
  },
  dutyRenew: ({ model }, { duty, ttlMs }, held) => {
    model.duties.renewed(duty, ttlMs, held);
    return held ? undefined : `${duty.name}@${duty.epoch} lost`;
  },
  dutyRelease: ({ model }, { duty }) => {
    model.duties.released(duty);
    return `${duty.name}@${duty.epoch}`;
  },
  depCarry: ({ model }, { duty }) => {
    model.duties.wrote(duty, false);
    return undefined;
  },
  taskCancel: ({ model }, { tasks }, answers) => {
    model.cancelled(tasks, answers);
    return `${tasks}: ${answers}`;
  },
  taskRevive: (_run, { tasks }, answers) => `${tasks}: ${answers.map((a) => (a.ok ? 'ready' : a.state))}`,
  graphPush: ({ model }, { items }, answer) => {
    model.pushes.graphPushed(items, answer);
    return answer.ok ? answer.tasks.map((a) => `${a.task} ${a.state}`).join(', ') : JSON.stringify(answer);
  },
  depList: ({ model }, { task }, dependencies) => {
    model.graph.listed(task, dependencies);
    return undefined;
  },
  taskTurn: ({ model }, { items }, answers) => {
    model.turns.took(items, answers);
    return items.map((item, i) => `${sayTurn(item)}: ${sayAnswer(answers[i] as port.TurnAnswer)}`).join(', ');
  },
  journalList: ({ model }, { task }, entries) => {
    model.journal.listed(task, entries);
    return undefined;
  },
  treeList: ({ model }, query, records) => {
    model.trees.listed(query, records);
    return undefined;
  },
  waitGet: ({ model }, { task }, record) => {
    model.waits.seen(task, record);
    return undefined;
  },
  waitList: ({ model }, { limit }, records) => {
    model.waits.listed(records, limit);
    return undefined;
  },
  signalSend: ({ model }, { items }, answers) => {
    for (const [i, item] of items.entries()) model.waits.signalled(item, answers[i] as port.SignalAnswer);
    return items.map((item, i) => `${item.channel} ${item.body}: ${answers[i]?.woken}`).join(', ');
  },
  laneIntern: ({ model }, _params, lanes) => {
    model.fleet.interned(lanes);
    return undefined;
  },
  workerRegister: ({ model }, worker, id) => {
    model.fleet.registered(worker, id);
    return `${worker.name} as ${id}`;
  },
  workerSet: ({ model }, setting) => {
    model.fleet.set(setting);
    return JSON.stringify(setting);
  },
  workerBeat: ({ model }, { beats }, known) => {
    for (const [i, beat] of beats.entries()) model.fleet.beaten(beat, known[i] as boolean);
    return undefined;
  },
  runPush: ({ model }, { runs }, answers) => {
    for (const [i, item] of runs.entries()) {
      const answer = answers[i] as port.RunPushAnswer;
      model.pushes.runPushed(item, answer);
      if (answer.kind === 'made' && item.budgets !== undefined) model.budgets.set(answer.task, item.budgets);
    }
    return runs.map(({ run }, i) => `${run.name} ${answers[i]?.kind}`).join(', ');
  },
  budgetSet: ({ model }, change) => {
    model.budgets.set(change.root, [change]);
    model.waits.delivered({ channel: budgetChannel(change.root), body: 'null', broadcast: true });
    return JSON.stringify(change);
  },
  queuePause: (_run, { queue, paused }) => `${queue} ${paused}`,
};

/** Holds an answer against the model at its commit, and says what it was. */
export function judge(verb: Verb, params: unknown, answer: unknown, process: SimProcess, run: Run): void {
  const judged = (JUDGES[verb] as ((run: Run, params: unknown, answer: unknown) => string | undefined) | undefined)?.(
    run,
    params,
    answer,
  );
  if (judged !== undefined) run.trace.say(process.name, `${verb} ${judged}`);
  run.cast.committed?.(run, verb, params, answer);
}

function sayAnswer(answer: port.TurnAnswer): string {
  if (answer.kind !== 'done') return JSON.stringify(answer);
  const children = answer.entries.flatMap((entry) => (entry.kind === 'child' ? [entry.task] : []));
  return children.length === 0 ? answer.went : `${answer.went} (${children})`;
}
