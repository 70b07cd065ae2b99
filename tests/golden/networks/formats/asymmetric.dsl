net asymmetric {
 node a
  {
   TYPE = CPT;
   HEADER =
    {
     ID = a;
     NAME = "A (by hand)";
    };
   PARENTS = ();
   DEFINITION =
    {
     NAMESTATES = (no, yes);
     PROBABILITIES = (0.25, 0.75);
    };
  };
 node c
  {
   TYPE = CPT;
   HEADER =
    {
     ID = c;
     NAME = "C (by hand)";
    };
   PARENTS = (a, b);
   DEFINITION =
    {
     NAMESTATES = (s1, s2, s3, s4);
     PROBABILITIES = (0.10, 0.20, 0.30, 0.40,
      0.11, 0.22, 0.29, 0.38,
      0.12, 0.24, 0.28, 0.36,
      0.13, 0.26, 0.27, 0.34,
      0.14, 0.28, 0.26, 0.32,
      0.15, 0.30, 0.25, 0.30);
    };
  };
 node b
  {
   TYPE = CPT;
   HEADER =
    {
     ID = b;
     NAME = "B (by hand)";
    };
   PARENTS = ();
   DEFINITION =
    {
     NAMESTATES = (low, mid, high);
     PROBABILITIES = (0.5, 0.3, 0.2);
    };
  };
 OBSERVATION_COST =
  {
   node a
    {
     PARENTS = ();
     COSTS = (0.0);
    };
  };
};
