import type { Handlers } from '../route-handler.ts';

export const waitRoutes: Handlers<'sendSignal' | 'listApprovals' | 'decideApproval'> = {
  sendSignal: ({ body: { channel, body, broadcast }, desk }) => desk().waits.signal(channel, body, { broadcast }),

  async listApprovals({ query, desk }) {
    return { approvals: await desk().waits.approvals(query.limit) };
  },

  decideApproval({ params, body, desk, by }) {
    const own = desk();
    return own.waits.decide(own.numberOf(params.id), { ...body, by });
  },
};
