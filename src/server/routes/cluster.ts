import type { Handlers } from '../route-handler.ts';

export const clusterRoutes: Handlers<'getCluster' | 'editNode'> = {
  getCluster: ({ desk }) => desk().cluster.look(),

  editNode: ({ params, body, desk }) => desk().cluster.setRole(params.id, body.role),
};
