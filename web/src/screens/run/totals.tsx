/** What a run has used up, over its whole tree. */

import type { RunDetail } from '../../api.ts';
import { amountText } from '../../model/run/budget.ts';
import { duration } from '../../model/time.ts';
import { Duration } from '../../ui/times.tsx';

export function Totals({ of: run }: { readonly of: RunDetail }) {
  const { apiCalls, tokens, cost, agentMs, partial = false } = run.totals;
  const tasks = Object.values(run.members).reduce<number>((sum, n) => sum + (n ?? 0), 0);
  // Others ask no agent, until they do.
  const agents = run.kind === 'machine' || run.kind === 'agent' || apiCalls > 0 || tokens > 0;
  return (
    <div className="figures" role="group" aria-label="Totals">
      <div className="figure">
        <b>
          <Duration from={run.createdAt} until={run.finishedAt} />
        </b>
        <span>time</span>
      </div>
      <div className="figure">
        <b>{tasks.toLocaleString('en')}</b>
        <span>{tasks === 1 ? 'task' : 'tasks'}</span>
      </div>
      {agents && (
        <>
          <div className="figure">
            <b title={partial ? 'Some tasks of this large tree are not counted' : undefined}>
              {partial ? '≥ ' : ''}
              {apiCalls.toLocaleString('en')}
            </b>
            <span>calls</span>
          </div>
          <div className="figure">
            <b title={tokens.toLocaleString('en')}>{amountText('tokens', tokens)}</b>
            <span>tokens</span>
          </div>
          <div className="figure">
            <b>{amountText('money', cost)}</b>
            <span>cost</span>
          </div>
          <div className="figure">
            <b>{duration(agentMs)}</b>
            <span>in agents</span>
          </div>
        </>
      )}
    </div>
  );
}
