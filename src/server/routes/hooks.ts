import type { Handlers } from '../http/route-handler.ts';
import { admit, keyOf } from './pushing.ts';

export const hookRoutes: Handlers<'deliverHook' | 'fireTrigger'> = {
  deliverHook: ({ params, body, hooks, request }) =>
    hooks.deliver(params.name, { headers: request.headers, body: body as string }),

  async fireTrigger({ params, body, operator, request, principal, guard }) {
    await admit({ guard, principal }, [{ queue: `trigger.${params.name}` }]);
    return operator.call('fireTrigger', { params, body, key: keyOf('trigger', request, principal) });
  },
};
