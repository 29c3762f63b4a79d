"""3. What every dynamics shares and no equation mentions: time, saving, random streams, placement, replicas."""
