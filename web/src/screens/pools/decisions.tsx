/** The decisions about a pool that were kept, with their reasons in words. */

import { useState } from 'react';
import type { PoolDecision } from '../../api.ts';
import { decidedText, reasonsText, staffText } from '../../model/pool/words.ts';
import { asSentence } from '../../model/text.ts';
import { Button } from '../../ui/buttons.tsx';
import { Panel } from '../../ui/layout.tsx';
import { Time } from '../../ui/times.tsx';

const FIRST = 8;

export function Decisions({ decisions }: { readonly decisions: readonly PoolDecision[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? decisions : decisions.slice(0, FIRST);
  return (
    <Panel title="Decisions" count={decisions.length}>
      {decisions.length === 0 ? (
        <div className="panel-body quiet">
          Nothing was decided yet. A decision is kept when it differs from the last.
        </div>
      ) : (
        <div className="table-wrap">
          <table className="table">
            <thead>
              <tr>
                <th>When</th>
                <th className="num">Desired</th>
                <th className="wraps">What was done, and why</th>
                <th className="wide-only">Workers then</th>
                <th className="num wide-only">Tasks then</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((one) => (
                <tr key={one.n}>
                  <td className="nowrap quiet">
                    <Time at={one.at} />
                  </td>
                  <td className="num strong">{one.want}</td>
                  <td>
                    {one.launched > 0 || one.drained > 0 ? <b className="strong">{decidedText(one)}. </b> : null}
                    <span className="ink-2">
                      {one.reasons.length > 0
                        ? asSentence(reasonsText(one.reasons))
                        : 'No task needs more workers than there are.'}
                    </span>
                  </td>
                  <td className="wide-only quiet">{staffText(one)}</td>
                  <td className="num wide-only nowrap">
                    {one.runnable.toLocaleString('en')}
                    {one.blocked > 0 && <span className="quiet"> · {one.blocked.toLocaleString('en')} held</span>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {decisions.length > FIRST && (
        <div className="panel-foot">
          <Button kind="plain" small onClick={() => setAll(!all)}>
            {all ? 'Show less' : `Show all ${decisions.length}`}
          </Button>
        </div>
      )}
    </Panel>
  );
}
